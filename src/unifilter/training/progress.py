"""Progress of training: a bar on a terminal, plain lines in a pipe."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

# Minimum number of seconds between lines in a pipe.
_SECONDS_PER_LINE = 10.0


class Progress(AbstractContextManager["Progress"]):
    """Shows epoch, loss, validation score and remaining time on stderr, so that a pipe receives only results.

    Args:
        enabled: ``False`` shows nothing.
        label: Description of the training.
        epochs: Maximum number of epochs.
    """

    def __init__(self, enabled: bool, label: str, epochs: int) -> None:
        self.enabled, self.label, self.epochs = enabled, label, epochs
        self._bar: Any = None
        self._start = self._printed = time.monotonic()
        self._first: int | None = None

    def __enter__(self) -> Progress:
        if self.enabled and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("epoch {task.completed}/{task.total}  {task.fields[status]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(self.label, total=self.epochs, status="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, epoch: int, loss: float, score: float, metric: str) -> None:
        """Call this after each epoch, counted from 1."""
        if not self.enabled:
            return
        status = f"loss {loss:.4f}  validation {metric} {score:.4f}"
        if self._bar is not None:
            self._bar.update(self._task, completed=epoch, status=status)
            return
        now = time.monotonic()
        self._first = epoch if self._first is None else self._first
        if now - self._printed < _SECONDS_PER_LINE:
            return
        self._printed = now
        per_epoch = (now - self._start) / (epoch - self._first + 1)
        left = per_epoch * (self.epochs - epoch)
        print(f"{self.label}: epoch {epoch}/{self.epochs}  {status}  at most {left:.0f} s left", file=sys.stderr)
