"""Beyond the paper: its formula, what its published code computes, and settings that nobody tuned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from unifilter.experiments.experiment import SIX_GRAPHS
from unifilter.experiments.presentation import Presentation
from unifilter.experiments.reported import reported
from unifilter.experiments.row_files import Row
from unifilter.experiments.tables import AccuracyTable, Contender

_PAPER, _DEFAULTS, _RELEASED = "as in the paper", "as in the paper, default settings", "as in the published code"
# How far below the published settings the defaults may be.
_POINTS = 2.0


class TableFormulations(AccuracyTable):
    """UniFilter in both formulations with the published settings, and with its defaults, on the six graphs."""

    name: ClassVar[str] = "table-formulations"
    title: ClassVar[str] = "UniFilter as in the paper, as in the published code, and untuned"
    datasets: ClassVar[tuple[str, ...]] = SIX_GRAPHS
    rule = "60"

    def contenders(self) -> Mapping[str, Contender]:
        return {
            _PAPER: Contender("unifilter"),
            _DEFAULTS: Contender("unifilter", published=False),
            _RELEASED: Contender("unifilter", {"formulation": "released"}),
        }

    def figures(self) -> Mapping[str, Mapping[str, Any]]:
        # The paper has one figure a graph; which of the two its code was when it was measured is not said.
        return dict.fromkeys(self.contenders(), reported("table-polynomial")["UniFilter"])

    def present(self, rows: Sequence[Row]) -> Presentation:
        presentation = super().present(rows)
        table = presentation.tables[0]
        gaps = {
            column: table.entry(_PAPER, column).mean - table.entry(_DEFAULTS, column).mean
            for column in table.columns
            if table.entry(_PAPER, column).values and table.entry(_DEFAULTS, column).values
        }
        if gaps:
            said = ", ".join(f"{column} {gap:+.2f}" for column, gap in gaps.items())
            within = sum(gap <= _POINTS for gap in gaps.values())
            presentation.notes.append(
                f"Published settings less defaults, in points: {said}; the defaults are within {_POINTS:g} points on "
                f"{within} of {len(gaps)} graphs."
            )
        return presentation
