"""The appendix' table of accuracies when UniFilter is given a different homophily."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unifilter.experiments.engine.cells import Cell
from unifilter.experiments.engine.experiment import Experiment, Options, trained
from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.engine.sources import Facts
from unifilter.experiments.show.pictures import draw_row, panels, shared_legend
from unifilter.experiments.show.presentation import Presentation, Table, collect, comparison, on_common_splits

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class TableSensitivity(Experiment):
    """UniFilter on Pubmed and Squirrel with a given homophily, five values around the true one."""

    name: ClassVar[str] = "table-sensitivity"
    title: ClassVar[str] = "Accuracy over the homophily that is given"
    place: ClassVar[str] = "appendix, table of varying homophily"
    datasets: ClassVar[tuple[str, ...]] = ("pubmed", "squirrel")
    open_to_others: ClassVar[bool] = False

    def cells(self, dataset: str, facts: Facts, options: Options) -> list[Cell]:
        cells = []
        for homophily in self.reported[dataset]["h"]:
            at = {"dataset": dataset, "homophily": homophily}
            cells += trained(
                "unifilter", dataset, facts, options, "60", at, changes={"homophily": homophily}, preset=dataset
            )
        return cells

    def present(self, rows: Sequence[Row]) -> Presentation:
        measured = collect(on_common_splits(rows, "dataset", "homophily"), ("dataset", "homophily"))
        tables = []
        for dataset in self.datasets:
            columns = [str(homophily) for homophily in self.reported[dataset]["h"]]
            theirs = {
                (dataset, column): pair
                for column, pair in zip(columns, self.reported[dataset]["accuracy"], strict=True)
            }
            ours = {place: values for place, values in measured.items() if place[0] == dataset}
            tables.append(
                comparison(
                    "test accuracy in %",
                    ours,
                    theirs,
                    [dataset],
                    columns,
                    corner="homophily given",
                )
            )
        notes = ["The paper prints the names of the two rows swapped: 91 % is Pubmed's accuracy, 67 % Squirrel's."]
        return Presentation(tables, notes=notes, draw=lambda: _draw(tables))


def _draw(tables: Sequence[Table]) -> Figure:
    figure, grid = panels(len(tables), width=4.4)
    for axes, table in zip(grid, tables, strict=True):
        given = np.array([float(column) for column in table.columns])
        draw_row(axes, table, table.rows[0], given)
        axes.set_xticks(given, table.columns)
        axes.set(title=table.rows[0], xlabel="homophily h that is given", ylabel="test accuracy, %")
        axes.grid(color="0.92")
    shared_legend(figure, grid)
    return figure
