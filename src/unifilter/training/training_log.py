"""Curves of a training in TensorBoard or MLflow: callbacks for ``on_epoch``."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar

from typing_extensions import Self

from unifilter._internal.extras import require
from unifilter.training.trainer import History


class TrainingLog(AbstractContextManager["TrainingLog"]):
    """Called with the history after each epoch, it writes ``training_loss``, ``validation_loss``, ``validation_score``.

    A method that leaves settings open is trained several times: each training is a curve of its own. One that goes on
    from a checkpoint is written from its first epoch on. Close it in the end, or use it in a ``with`` statement.
    """

    extra: ClassVar[str]

    def __init__(self) -> None:
        self.check_installed()
        self._history: History | None = None
        self._written = self._trainings = 0

    @classmethod
    def check_installed(cls) -> None:
        """Refuses a log whose package is not installed. Call it before any work."""
        require(cls.extra, what=f"the log {cls.__name__}")

    def __call__(self, history: History) -> None:
        if history is not self._history:
            self.close()
            self._history, self._written = history, 0
            self._trainings += 1
            self._begin(self._trainings)
        for epoch in range(self._written, history.epochs):
            numbers = {
                "training_loss": history.loss[epoch],
                "validation_loss": history.val_loss[epoch],
                "validation_score": history.val_score[epoch],
            }
            self._write(epoch + 1, numbers)
        self._written = history.epochs
        if history.ended:
            self._end("FINISHED")

    def close(self, status: str = "FINISHED") -> None:
        """Ends the curve that is being written."""
        if self._history is not None and not self._history.ended:
            self._end(status)
        self._history = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close("FINISHED" if kind is None else "KILLED" if kind is KeyboardInterrupt else "FAILED")

    @abstractmethod
    def _begin(self, number: int) -> None:
        """A training starts, counted from 1."""

    @abstractmethod
    def _write(self, epoch: int, numbers: Mapping[str, float]) -> None:
        """What an epoch came to, counted from 1."""

    @abstractmethod
    def _end(self, status: str) -> None:
        """The training is over."""


class TensorBoardLog(TrainingLog):
    """Writes to a folder that ``tensorboard --logdir FOLDER`` shows; each training has its own folder in it.

    Args:
        folder: Made where it is not there; what it holds stays, and further trainings are added.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import mkdtemp
        >>> from unifilter import NodeClassifier
        >>> from unifilter.datasets import load_dataset
        >>> from unifilter.training import TensorBoardLog
        >>> karate = load_dataset("karate")
        >>> folder = Path(mkdtemp())
        >>> with TensorBoardLog(folder) as log:
        ...     clf = NodeClassifier("mlp").fit(karate.graph, karate.features, karate.labels, on_epoch=log)
        >>> [training.name for training in folder.iterdir()]
        ['training-1']
    """

    extra: ClassVar[str] = "tensorboard"

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        super().__init__()
        self.folder = Path(folder)
        self._writer: Any = None

    def _begin(self, number: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        names = (self.folder / f"training-{one}" for one in count(1))
        free = next(path for path in names if not path.exists())
        self._writer = SummaryWriter(str(free))

    def _write(self, epoch: int, numbers: Mapping[str, float]) -> None:
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, epoch)

    def _end(self, status: str) -> None:
        self._writer.close()


class MLflowLog(TrainingLog):
    """Writes to MLflow; each training is a run.

    Args:
        experiment: The name of the experiment; made where it is not there.
        name: What the runs are called; further trainings have their number behind it.
        params: What is noted of every run, such as ``clf.get_params()``.
        tracking_uri: Where MLflow keeps its runs; by default what MLflow is set to (``MLFLOW_TRACKING_URI``).
    """

    extra: ClassVar[str] = "mlflow"

    def __init__(
        self,
        experiment: str = "unifilter",
        name: str = "training",
        params: Mapping[str, Any] | None = None,
        tracking_uri: str | None = None,
    ) -> None:
        super().__init__()
        from mlflow import MlflowClient

        self.name, self.params = name, dict(params or {})
        self._client = MlflowClient(tracking_uri)
        known = self._client.get_experiment_by_name(experiment)
        self._experiment = self._client.create_experiment(experiment) if known is None else known.experiment_id
        self._run = ""

    def _begin(self, number: int) -> None:
        name = self.name if number == 1 else f"{self.name} {number}"
        self._run = self._client.create_run(self._experiment, run_name=name).info.run_id
        for key, value in self.params.items():
            self._client.log_param(self._run, key, value)

    def _write(self, epoch: int, numbers: Mapping[str, float]) -> None:
        for name, value in numbers.items():
            self._client.log_metric(self._run, name, value, step=epoch)

    def _end(self, status: str) -> None:
        self._client.set_terminated(self._run, status)
