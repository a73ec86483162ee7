"""Stored figures by name: what claims and prose are computed from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.show.presentation import Entry, Finding, Table
from unifilter.experiments.show.shown import Shown


class MissingFigureError(LookupError):
    """Something was not measured, so nothing can be said of it."""


class Figures:
    """Everything that experiments show, by the experiment, the row and the column of its tables.

    Args:
        shown: The experiments that have rows.
    """

    def __init__(self, shown: Sequence[Shown]) -> None:
        self._shown = {one.experiment.name: one for one in shown}

    def tables(self, experiment: str) -> list[Table]:
        """The tables of an experiment."""
        return self._of(experiment).presentation.tables

    def findings(self, experiment: str) -> list[Finding]:
        """The claims that an experiment checks by itself."""
        return self._of(experiment).presentation.findings

    def rows(self, experiment: str) -> Sequence[Row]:
        """The stored rows of an experiment."""
        return self._of(experiment).rows

    def entry(self, experiment: str, row: str, column: str, table: int = 0) -> Entry:
        """One place in one of its tables."""
        found = self.tables(experiment)[table]
        if row not in found.rows or column not in found.columns:
            raise KeyError(f"table {table} of {experiment} has no entry {row!r}, {column!r}")
        return found.entry(row, column)

    def mean(self, experiment: str, row: str, column: str, table: int = 0) -> float:
        """What was measured there, the mean over the splits."""
        entry = self.entry(experiment, row, column, table)
        if not entry.values:
            raise MissingFigureError(f"{experiment} has not measured {row}, {column}")
        return entry.mean

    def reported(self, experiment: str, row: str, column: str, table: int = 0) -> float:
        """What the paper reports there."""
        entry = self.entry(experiment, row, column, table)
        if entry.reported is None:
            raise MissingFigureError(f"nothing is reported for {row}, {column} of {experiment}")
        return entry.reported[0]

    def difference(self, experiment: str, row: str, column: str, table: int = 0) -> float:
        """Measured less reported."""
        return self.mean(experiment, row, column, table) - self.reported(experiment, row, column, table)

    def splits(self, experiment: str, row: str, column: str, table: int = 0) -> int:
        """How many splits were measured there."""
        return len(self.entry(experiment, row, column, table).values)

    def outcome(self, experiment: str, name: str, **at: Any) -> Any:
        """One number of the one stored row that is at these coordinates."""
        found = [
            row
            for row in self.rows(experiment)
            if name in row["outcome"] and all(row["at"].get(key) == value for key, value in at.items())
        ]
        if len(found) != 1:
            raise MissingFigureError(f"{experiment} has {len(found)} rows with {name} at {at}, not one")
        return found[0]["outcome"][name]

    def _of(self, experiment: str) -> Shown:
        if experiment not in self._shown:
            raise MissingFigureError(f"there are no rows of {experiment}")
        return self._shown[experiment]
