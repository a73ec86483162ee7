"""The state of the page, with at most one operation at a time."""

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

# A training stops at the end of its epoch. If that takes longer, the server does not wait for it.
_SECONDS_TO_STOP = 10.0


class BusyError(RuntimeError):
    """Another operation is running."""


class Session:
    """One data set, its training results, and at most one running training.

    Everything runs on the same few cores, so only one operation runs at a time; others are rejected, not queued.

    Args:
        opened: The initial data set.
        data_dir: The data directory.
        upload_limit: Maximum size of an upload in bytes.
        device: Device to compute on.
    """

    def __init__(self, opened: Opened, data_dir: Path | None, upload_limit: int, device: str = "cpu") -> None:
        self.opened, self.data_dir, self.upload_limit, self.device = opened, data_dir, upload_limit, device
        self.training: Training | None = None
        self.closing = threading.Event()
        self._busy = threading.Lock()
        self._doing = ""

    def to_dict(self) -> dict[str, Any]:
        """The state of the page, without the explanation."""
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
        """Open a named data set. The results on the previous data set are dropped."""
        with self._one_thing(f"{name} is being opened"):
            self._replace(open_present(name, self.data_dir, self.device))

    def open_upload(self, path: Path) -> None:
        """Open an upload. If it cannot be read or explained, nothing changes."""
        with self._one_thing(f"{path.name} is being opened"):
            dataset = read_upload(path, self.upload_limit).with_checked(source="an upload")
            try:
                opened = open_dataset(dataset, published=False, device=self.device)
            except (ValueError, MemoryError, RuntimeError) as error:  # torch raises RuntimeError when out of memory
                raise ValueError(f"{path.name} cannot be explained: {error}") from error
            self._replace(opened)

    def train(self, names: Sequence[str], split: str, epochs: int) -> None:
        """Start a training. Errors in the request are reported before it starts."""
        opened = self.opened
        dataset = opened.dataset
        if not (dataset.labels >= 0).any():
            raise ValueError(f"{dataset.name} has no labels, so nothing can be trained: open a data set with labels")
        if not names:
            raise ValueError("no method was chosen: select at least one")
        for name in names:
            if not isinstance(name, str):
                raise ValueError(f"the name of a method must be text, not {name!r}: choose one of {', '.join(METHODS)}")
        try:
            methods = [self._build(find_method(name), split, epochs) for name in dict.fromkeys(names)]
        except MissingExtraError as error:
            raise ValueError(str(error)) from None  # an error of the request, for the page
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
        """Stop the training, if one is running."""
        if self.training is not None:
            self.training.stop()

    def explanation(self, number: int = 0) -> SpectralExplanation:
        """The explanation of the data set, or of the training result with this number."""
        if number == 0:
            return self.opened.explanation
        found: Trained | None = next((one for one in self.opened.trained if one.number == number), None)
        if found is None:
            raise ValueError(f"there is no training result {number} on {self.opened.dataset.name}: train it first")
        if found.explanation is None:
            raise ValueError(
                f"{found.record['method']} learns no filter that is a function of the eigenvalues: choose another "
                "method"
            )
        return found.explanation

    def close(self) -> None:
        """Stop the current operation, because the server is shutting down."""
        self.closing.set()
        self.stop()

    def join(self) -> None:
        """Wait for the training, up to a time limit."""
        if self.training is not None:
            self.training.join(_SECONDS_TO_STOP)

    def _published(self, method: type[Method]) -> bool:
        return self.opened.published and self.opened.dataset.name in method.presets

    def _build(self, method: type[Method], split: str, epochs: int) -> Method:
        """The method with the published settings, if there are any for this data set."""
        dataset = self.opened.dataset
        method.check_installed()
        named = dataset.name if self.opened.published else None
        built = method.preset(named, split=split, task=dataset.task, metric=dataset.metric, epochs=epochs)
        built.optimization()  # validates the number of epochs
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
        return f"{self._doing}, and only one operation can run at a time: wait until it ends, or stop it"
