"""Measures cells one after another, with cached computations for the current data set."""

from __future__ import annotations

import time
from typing import Any

from unifilter._internal.plain import plain
from unifilter.experiments.engine.cells import Cell
from unifilter.experiments.engine.sources import Sources
from unifilter.experiments.measures import MEASURES
from unifilter.methods import Workspace


class Worker:
    """Measures cells. The workspace of the last data set is kept, so that its factorizations are shared.

    Args:
        sources: The data.
    """

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._dataset: str | None = None
        self._workspace: Workspace | None = None

    def outcome(self, cell: Cell) -> dict[str, Any]:
        """The result of a measurement, with its time."""
        started = time.monotonic()
        outcome = MEASURES[cell.measure].function(self._workspace_of(cell.dataset), cell)
        outcome["cell_seconds"] = round(time.monotonic() - started, 3)
        measured: dict[str, Any] = plain({name: value for name, value in outcome.items() if value is not None})
        return measured

    def _workspace_of(self, dataset: str) -> Workspace:
        if self._workspace is None or self._dataset != dataset:
            self._workspace = None  # freed first, because two data sets need not fit in memory together
            self._workspace = Workspace(self.sources.load(dataset), self.sources.device)
            self._dataset = dataset
        return self._workspace
