"""Table 3: homophily estimated from training labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from unifilter.experiments.engine.cells import Cell
from unifilter.experiments.engine.experiment import SIX_GRAPHS, Experiment, Options, split_indices
from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.engine.sources import Facts
from unifilter.experiments.show.pictures import draw_comparison
from unifilter.experiments.show.presentation import Presentation, collect, comparison

# "48" are the masks of Geom-GCN, which the paper compares on; "random-48-32-20" is the rule that its results fit.
_RULES = {
    "60": "estimate, 60/20/20",
    "48": "estimate, 48/32/20",
    "random-48-32-20": "estimate, 48/32/20 drawn as 60/20/20 is",
}
_TRUE = "whole graph"


class TableEstimate(Experiment):
    """The estimate on the training nodes of every split of both kinds, and the homophily of the whole graph."""

    name: ClassVar[str] = "table-estimate"
    title: ClassVar[str] = "Estimated homophily"
    place: ClassVar[str] = "Table 3"
    datasets: ClassVar[tuple[str, ...]] = SIX_GRAPHS

    def cells(self, dataset: str, facts: Facts, options: Options) -> list[Cell]:
        cells = []
        for rule, label in _RULES.items():
            at = {"row": label, "column": dataset}
            cells += [Cell("estimate", dataset, at, rule, index) for index in split_indices(rule, facts, options)]
        return cells

    def present(self, rows: Sequence[Row]) -> Presentation:
        measured = collect(rows, ("row", "column"), lambda row: float(row["outcome"]["estimate"]))
        # Homophily of the whole graph, the same for every split.
        true = {(row["at"]["column"], row["index"]): float(row["outcome"]["homophily"]) for row in rows}
        for (dataset, _), homophily in true.items():
            measured.setdefault((_TRUE, dataset), []).append(homophily)
        labels = {"true": _TRUE, **_RULES}
        figures = {**self.reported, "random-48-32-20": self.reported["48"]}
        theirs = {(label, dataset): value for kind, label in labels.items() for dataset, value in figures[kind].items()}
        table = comparison(
            "edge homophily", measured, theirs, list(labels.values()), self.datasets, digits=3, corner="labels of"
        )
        return Presentation([table], draw=lambda: draw_comparison(table, "edge homophily"))
