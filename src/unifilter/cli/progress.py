"""What a person sees during long work that has steps: a bar on a terminal, plain lines in a pipe; on stderr."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

# In a pipe a line is printed when this many seconds have passed since the last.
_SECONDS_PER_LINE = 10.0


class ProgressBar(AbstractContextManager["ProgressBar"]):
    """Shows what is being done and which share of it is done.

    Args:
        label: What the whole work is called.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self._bar: Any = None
        self._printed = time.monotonic()

    def __enter__(self) -> ProgressBar:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:3.0f} %"),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(self.label, total=1.0)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, what: str, share: float) -> None:
        """Args: what is being done, and which share of that is done."""
        if self._bar is not None:
            self._bar.update(self._task, completed=share, description=f"{self.label}: {what}")
            return
        now = time.monotonic()
        if now - self._printed >= _SECONDS_PER_LINE:
            self._printed = now
            print(f"{self.label}: {what}, {100 * share:.0f} %", file=sys.stderr)
