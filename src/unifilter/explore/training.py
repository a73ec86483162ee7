"""Trains methods one after another in a thread, with live progress for the page."""

from __future__ import annotations

import threading
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from unifilter.data import Split
from unifilter.estimators import fit
from unifilter.explore.trained import Trained, finite, keep
from unifilter.methods import Method, Problem, Workspace
from unifilter.training import DivergedWarning, History

State = Literal["running", "done", "stopped", "failed"]


@dataclass(eq=False)
class Curve:
    """Progress of one method. Other threads may read the lists while they grow.

    Attributes:
        method: Name of the method.
        metric: Name of the score.
        epochs: Maximum number of epochs.
        loss, score: Training loss and validation score of every epoch.
    """

    method: str
    metric: str
    epochs: int
    loss: list[float | None] = field(default_factory=list)
    score: list[float | None] = field(default_factory=list)

    def since(self, epoch: int) -> dict[str, Any]:
        """The progress after a number of epochs."""
        # The score is appended last, so every epoch with a score is complete.
        until = len(self.score)
        return {
            "method": self.method,
            "metric": self.metric,
            "epochs": self.epochs,
            "from": epoch,
            "loss": self.loss[epoch:until],
            "score": self.score[epoch:until],
        }


class Training:
    """A thread that trains some methods on one split.

    Args:
        workspace: The data.
        methods: Methods with their hyperparameters.
        split: The split to train on.
        first_number: Number of the first result.
        on_trained: Called in the thread with each result.
        on_end: Called in the thread when the training has ended.

    Attributes:
        state: The state; ``message`` describes it in words.
        curves: The progress of each method that has started, or of each of its candidates.
    """

    def __init__(
        self,
        workspace: Workspace,
        methods: Sequence[Method],
        split: Split,
        first_number: int,
        on_trained: Callable[[Trained], None],
        on_end: Callable[[], None],
    ) -> None:
        self.workspace, self.methods, self.split, self.first_number = workspace, tuple(methods), split, first_number
        self.state: State = "running"
        self.message = f"training {', '.join(method.name for method in methods)} on {workspace.dataset.name}"
        self.curves: list[Curve] = []
        self._on_trained, self._on_end = on_trained, on_end
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="unifilter-training", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current epoch. The best weights so far are kept."""
        self._stop.set()

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def to_dict(self) -> dict[str, Any]:
        return {"state": self.state, "message": self.message, "methods": [method.name for method in self.methods]}

    def _run(self) -> None:
        state: State = "failed"
        message = ""
        try:
            state, message = self._train_all()
        except (ValueError, MemoryError) as error:
            message = str(error) or "there is not enough memory: train a smaller model"
        except Exception as error:
            traceback.print_exc()  # on the server's terminal
            message = f"{type(error).__name__}: {error}"
        finally:
            if state == "failed" and self.curves:
                message = f"{self.curves[-1].method}: {message}"
            # Called first, because the next training may start before the final state is read.
            self._on_end()
            self.message, self.state = message, state

    def _train_all(self) -> tuple[State, str]:
        for number, method in enumerate(self.methods, self.first_number):
            self._begin(method, 1)
            problem = Problem(self.workspace, self.split.train, self.split.val)
            with warnings.catch_warnings():
                # The page shows how a training ended.
                warnings.simplefilter("ignore", DivergedWarning)
                fitted = fit(method, problem, on_epoch=self._watch(method))
            self._on_trained(keep(number, fitted, self.workspace, self.split))
            if self._stop.is_set():
                return (
                    "stopped",
                    f"stopped {method.name} after epoch {fitted.history.epochs}; its best weights are kept",
                )
        return "done", f"trained {', '.join(method.name for method in self.methods)}"

    def _begin(self, method: Method, number: int) -> None:
        """Start the curve of a method, or of one of its candidates."""
        of = len(method.candidates())
        name = f"{method.name} ({number} of {of})" if of > 1 else method.name
        self.curves.append(Curve(name, method.metric, method.epochs))

    def _watch(self, method: Method) -> Callable[[History], bool]:
        following = count(2)

        def note(history: History) -> bool:
            if history.epochs == 1 and self.curves[-1].loss:
                self._begin(method, next(following))
            curve = self.curves[-1]
            curve.loss.append(finite(history.loss[-1]))
            curve.score.append(finite(history.val_score[-1]))
            return self._stop.is_set()

        return note
