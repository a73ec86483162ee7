"""The table of large graphs, if they are available, and a smaller graph of the same kind that can be run anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.show.pictures import draw_comparison
from unifilter.experiments.show.presentation import Presentation
from unifilter.experiments.show.tables import AccuracyTable

# Another college of the collection of Penn94: the same kind of graph, features and task, half the size.
_STAND_IN = {"cornell5": "penn94"}


class TableLarge(AccuracyTable):
    """Nine methods on Penn94, Genius and ogbn-arxiv, and on Cornell5 with the settings of Penn94."""

    name: ClassVar[str] = "table-large"
    title: ClassVar[str] = "Large graphs"
    place: ClassVar[str] = "appendix, table of large datasets"
    datasets: ClassVar[tuple[str, ...]] = ("penn94", "genius", "ogbn-arxiv", "cornell5")
    rule = "official"
    score = "accuracy (ROC AUC on genius)"

    def settings_of(self, dataset: str) -> str:
        return _STAND_IN.get(dataset, dataset)

    def present(self, rows: Sequence[Row]) -> Presentation:
        presentation = super().present(rows)
        table = presentation.tables[0]

        def labeled(column: str) -> str:
            return f"{column} (stand-in for {_STAND_IN[column]})" if column in _STAND_IN else column

        table = replace(
            table,
            columns=tuple(map(labeled, table.columns)),
            entries={(row, labeled(column)): entry for (row, column), entry in table.entries.items()},
        )
        presentation.tables[0] = table
        presentation.draw = lambda: draw_comparison(table, "test score, %")
        presentation.notes.insert(
            0, "cornell5 is a stand-in for penn94 and has no reported figures: do not compare it with that column."
        )
        return presentation
