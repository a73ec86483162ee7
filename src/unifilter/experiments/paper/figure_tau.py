"""Figure 4: accuracy over tau, the share of the homophily basis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from unifilter.experiments.engine.cells import Cell
from unifilter.experiments.engine.experiment import Experiment, Options, trained
from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.engine.sources import Facts
from unifilter.experiments.show.pictures import draw_lines
from unifilter.experiments.show.presentation import Presentation, collect, comparison, on_common_splits

TAUS = tuple(round(0.1 * step, 1) for step in range(11))


class FigureTau(Experiment):
    """UniFilter on Cora and Squirrel, tau from 0 to 1 and the rest as published: one factorization a graph."""

    name: ClassVar[str] = "figure-tau"
    title: ClassVar[str] = "Accuracy over tau"
    place: ClassVar[str] = "Figure 4"
    datasets: ClassVar[tuple[str, ...]] = ("cora", "squirrel")

    def cells(self, dataset: str, facts: Facts, options: Options) -> list[Cell]:
        cells = []
        for tau in TAUS:
            at = {"dataset": dataset, "tau": tau}
            cells += trained("unifilter", dataset, facts, options, "60", at, changes={"tau": tau}, preset=dataset)
        return cells

    def present(self, rows: Sequence[Row]) -> Presentation:
        theirs = {
            (dataset, str(tau)): pair
            for dataset in self.datasets
            for tau, pair in zip(self.reported["tau"], self.reported[dataset], strict=True)
        }
        table = comparison(
            "test accuracy in %",
            collect(on_common_splits(rows, "dataset", "tau"), ("dataset", "tau")),
            theirs,
            self.datasets,
            [str(tau) for tau in TAUS],
            corner="tau",
        )
        return Presentation(
            [table],
            notes=[
                "The paper's figure starts at tau = 0.1.",
                "All points of a curve are of the same splits: those that every tau has.",
            ],
            draw=lambda: draw_lines(table, TAUS, "tau, share of the homophily basis", "test accuracy, %"),
        )
