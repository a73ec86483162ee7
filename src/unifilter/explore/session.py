"""What is open on the page, and the one thing at a time that is being done about it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unifilter import __version__
from unifilter._internal.extras import MissingExtraError
from unifilter.data import check_classes
from unifilter.explanation import SpectralExplanation
from unifilter.explore.opened import Opened, open_dataset, open_present, present_names
from unifilter.explore.reading import read_upload
from unifilter.explore.trained import Trained
from unifilter.explore.training import Training
from unifilter.methods import METHODS, Method, find_method

# A training that was asked to stop ends with its epoch; a longer one is left behind when the server ends.
_SECONDS_TO_STOP = 10.0


class BusyError(RuntimeError):
    """Something else is being done."""


class Session:
    """One data set, what was trained on it, and at most one training.

    All of it computes on the same few cores, so only one thing is done at a time; another is refused, not queued.

    Args:
        opened: What the page starts with.
        data_dir: Where named data sets are.
        upload_limit: In bytes.
        device: Where to compute.
    """

    def __init__(self, opened: Opened, data_dir: Path | None, upload_limit: int, device: str = "cpu") -> None:
        self.opened, self.data_dir, self.upload_limit, self.device = opened, data_dir, upload_limit, device
        self.training: Training | None = None
        self.closing = threading.Event()
        self._busy = threading.Lock()
        self._doing = ""

    def to_dict(self) -> dict[str, Any]:
        """What the page needs to know, but for the explanation."""
        return {
            "version": __version__,
            "upload_limit": self.upload_limit,
            "datasets": present_names(self.data_dir),
            "dataset": self.opened.to_dict(),
            "methods": [
                {"name": name, "paper": method.paper, "published": self._published(method)}
                for name, method in METHODS.items()
            ],
            "training": None if self.training is None else self.training.to_dict(),
            "trained": [trained.to_dict() for trained in self.opened.trained],
        }

    def open_named(self, name: str) -> None:
        """Another data set in place of this one; what was trained goes with the old one."""
        with self._one_thing(f"{name} is being opened"):
            self._replace(open_present(name, self.data_dir, self.device))

    def open_upload(self, path: Path) -> None:
        """The same with a file. One that cannot be read or explained changes nothing."""
        with self._one_thing(f"{path.name} is being opened"):
            dataset = read_upload(path, self.upload_limit).with_checked(source="an upload")
            try:
                opened = open_dataset(dataset, published=False, device=self.device)
            except (ValueError, MemoryError, RuntimeError) as error:  # the last where torch finds no memory
                raise ValueError(f"{path.name} cannot be explained: {error}") from error
            self._replace(opened)

    def train(self, names: Sequence[str], split: str, epochs: int) -> None:
        """Starts a training; whatever is wrong with the request is said before."""
        opened = self.opened
        dataset = opened.dataset
        if not (dataset.labels >= 0).any():
            raise ValueError(f"{dataset.name} has no labels, so there is nothing to learn: open one that has some")
        if not names:
            raise ValueError("no method was chosen: tick at least one")
        for name in names:
            if not isinstance(name, str):
                raise ValueError(f"the name of a method must be text, not {name!r}: choose one of {', '.join(METHODS)}")
        try:
            methods = [self._build(find_method(name), split, epochs) for name in dict.fromkeys(names)]
        except MissingExtraError as error:
            raise ValueError(str(error)) from None  # of the request, for the page
        chosen = dataset.split(split)
        check_classes(
            chosen,
            dataset.labels,
            dataset.class_names,
            allow=dataset.is_literature_split(chosen),
            remedy="choose the split 'stratified', or label more nodes of it",
        )
        if not self._busy.acquire(blocking=False):
            raise BusyError(self._refusal())
        self._doing = f"{', '.join(method.name for method in methods)} is being trained"
        self.training = Training(
            opened.workspace, methods, chosen, len(opened.trained) + 1, opened.trained.append, self._busy.release
        )
        self.training.start()

    def stop(self) -> None:
        """Asks the training to end; without one there is nothing to do."""
        if self.training is not None:
            self.training.stop()

    def explanation(self, number: int = 0) -> SpectralExplanation:
        """Of the data set, or of what was trained as this number."""
        if number == 0:
            return self.opened.explanation
        found: Trained | None = next((one for one in self.opened.trained if one.number == number), None)
        if found is None:
            raise ValueError(f"nothing was trained as number {number} on {self.opened.dataset.name}: train it first")
        if found.explanation is None:
            raise ValueError(
                f"{found.record['method']} learns no filter that is a function of the eigenvalues: choose another "
                "method"
            )
        return found.explanation

    def close(self) -> None:
        """Ends what is going on; the server is going down."""
        self.closing.set()
        self.stop()

    def join(self) -> None:
        """Waits for the training, but not for ever."""
        if self.training is not None:
            self.training.join(_SECONDS_TO_STOP)

    def _published(self, method: type[Method]) -> bool:
        return self.opened.published and self.opened.dataset.name in method.presets

    def _build(self, method: type[Method], split: str, epochs: int) -> Method:
        """With the published settings where there are any for this data set."""
        dataset = self.opened.dataset
        method.check_installed()
        named = dataset.name if self.opened.published else None
        built = method.preset(named, split=split, task=dataset.task, metric=dataset.metric, epochs=epochs)
        built.optimization()  # which looks at the number of epochs
        return built

    def _replace(self, opened: Opened) -> None:
        self.opened, self.training = opened, None

    @contextmanager
    def _one_thing(self, doing: str) -> Iterator[None]:
        if not self._busy.acquire(blocking=False):
            raise BusyError(self._refusal())
        self._doing = doing
        try:
            yield
        finally:
            self._busy.release()

    def _refusal(self) -> str:
        return f"{self._doing}, and one thing is done at a time: wait for its end, or stop it"
