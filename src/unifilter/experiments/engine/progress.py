"""Progress on stderr while cells run: a live table on a terminal, plain lines in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from unifilter.experiments.engine.plan import PlannedCell


class RunProgress(AbstractContextManager["RunProgress"]):
    """Cells done and left for each data set, and the estimated time left.

    Args:
        title: Name of the experiment.
        cells: The cells to run.
        done: Number of cells done before.
        workers: Number of parallel processes.
        enabled: ``False`` shows nothing.
    """

    def __init__(self, title: str, cells: Sequence[PlannedCell], done: int, workers: int, enabled: bool = True) -> None:
        self.title, self.cells, self.before, self.workers, self.enabled = title, cells, done, workers, enabled
        self._left: dict[str, PlannedCell] = {planned.key: planned for planned in cells}
        self._seconds: dict[tuple[str, str], list[float]] = {}
        self._failures = 0
        self._last: dict[str, str] = {}
        self._live: Any = None
        self._started = time.monotonic()

    def __enter__(self) -> RunProgress:
        if self.enabled and sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(self.table(), console=Console(stderr=True), refresh_per_second=2)
            self._live.start()
        elif self.enabled:
            total = len(self.cells) + self.before
            print(f"{self.title}: {total} cells, {self.before} of them done before", file=sys.stderr)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.update(self.table())
            self._live.stop()

    def finished(self, planned: PlannedCell, outcome: dict[str, Any]) -> None:
        self._seconds.setdefault(_kind(planned), []).append(outcome["cell_seconds"])
        self._tell(planned, f"{_score(planned, outcome)}{outcome['cell_seconds']:.1f} s")

    def failed(self, planned: PlannedCell, message: str) -> None:
        self._failures += 1
        self._tell(planned, f"failed, {message}")

    def seconds_left(self) -> float | None:
        """Estimate from the times of cells of the same kind, or of all cells, divided by the number of processes."""
        every = [seconds for several in self._seconds.values() for seconds in several]
        if not every:
            return None
        average = sum(every) / len(every)
        total = 0.0
        for planned in self._left.values():
            same = self._seconds.get(_kind(planned))
            total += average if same is None else sum(same) / len(same)
        return total / self.workers

    def table(self) -> Any:
        """The state as a rich table."""
        from rich.table import Table
        from rich.text import Text

        table = Table(
            "data", "done", "left", "last", title=f"{self.title} ({self._summary()})", box=None, pad_edge=False
        )
        for dataset in dict.fromkeys(planned.cell.dataset for planned in self.cells):
            total = sum(planned.cell.dataset == dataset for planned in self.cells)
            left = sum(planned.cell.dataset == dataset for planned in self._left.values())
            # As Text, so that rich does not read brackets as markup.
            table.add_row(dataset, str(total - left), str(left), Text(self._last.get(dataset, "")))
        return table

    def _tell(self, planned: PlannedCell, what: str) -> None:
        self._left.pop(planned.key, None)
        self._last[planned.cell.dataset] = f"{planned.cell}: {what}"
        if self._live is not None:
            self._live.update(self.table())
        elif self.enabled:
            print(f"[{self._summary()}] {planned.cell}: {what}", file=sys.stderr, flush=True)

    def _summary(self) -> str:
        total = len(self.cells) + self.before
        failures = f", {self._failures} failed" if self._failures else ""
        left = self.seconds_left()
        time_left = f", about {duration(left)} left" if left is not None and self._left else ""
        return f"{total - len(self._left)}/{total}{failures}{time_left}"


def duration(seconds: float) -> str:
    """Format a duration, such as ``"3 min"``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _kind(planned: PlannedCell) -> tuple[str, str]:
    return planned.cell.dataset, planned.cell.method or planned.cell.measure


def _score(planned: PlannedCell, outcome: dict[str, Any]) -> str:
    metric = planned.cell.settings.get("metric")
    score = outcome.get(f"test_{metric}")
    return "" if score is None else f"test {metric} {score:.4f}, "
