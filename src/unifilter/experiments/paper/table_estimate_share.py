"""The appendix' table of homophily estimated from 10 % to 60 % of the labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from unifilter.experiments.engine.cells import Cell
from unifilter.experiments.engine.experiment import Experiment, Options, split_indices
from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.engine.sources import Facts
from unifilter.experiments.show.pictures import draw_lines
from unifilter.experiments.show.presentation import Presentation, collect, comparison

_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


class TableEstimateShare(Experiment):
    """The estimate on Cora and Squirrel for training sets of six sizes, ten of each."""

    name: ClassVar[str] = "table-estimate-share"
    title: ClassVar[str] = "Estimated homophily over the share of training labels"
    place: ClassVar[str] = "appendix, table of training percentages"
    datasets: ClassVar[tuple[str, ...]] = ("cora", "squirrel")

    def cells(self, dataset: str, facts: Facts, options: Options) -> list[Cell]:
        cells = []
        for share in _SHARES:
            at, rule = {"dataset": dataset, "share": share}, f"share-{share:g}"
            cells += [Cell("estimate", dataset, at, rule, index) for index in split_indices(rule, facts, options)]
        return cells

    def present(self, rows: Sequence[Row]) -> Presentation:
        theirs = {
            (dataset, str(share)): pair
            for dataset in self.datasets
            for share, pair in zip(self.reported["share"], self.reported[dataset], strict=True)
        }
        table = comparison(
            "edge homophily",
            collect(rows, ("dataset", "share"), lambda row: float(row["outcome"]["estimate"])),
            theirs,
            self.datasets,
            [str(share) for share in _SHARES],
            digits=3,
            corner="share of training nodes",
            over="training set",
        )
        notes = ["Training nodes are drawn class by class, as in the 60/20/20 splits; the paper does not say how."]
        return Presentation(
            [table], notes=notes, draw=lambda: draw_lines(table, _SHARES, "share of training nodes", "edge homophily")
        )
