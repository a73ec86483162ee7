"""What the tables of accuracies share: labels of the paper down the side, data sets along the top."""

from __future__ import annotations

from collections.abc import Sequence

from unifilter.experiments.cells import Cell
from unifilter.experiments.experiment import Experiment, Options, method_of, trained
from unifilter.experiments.pictures import draw_comparison
from unifilter.experiments.presentation import Presentation, Table, collect, comparison
from unifilter.experiments.row_files import Row
from unifilter.experiments.sources import Facts


class AccuracyTable(Experiment):
    """Every method that the paper reports and that is there, on every data set, with its published settings."""

    rule: str
    score = "accuracy"

    def cells(self, dataset: str, facts: Facts, options: Options) -> list[Cell]:
        cells = []
        for label in self.reported:
            method = method_of(label)
            if method is not None:
                at = {"row": label, "column": dataset}
                cells += trained(method, dataset, facts, options, self.rule, at, preset=self.settings_of(dataset))
        return cells

    def settings_of(self, dataset: str) -> str:
        """Whose published settings a data set is trained with."""
        return dataset

    def present(self, rows: Sequence[Row]) -> Presentation:
        table = self.table(rows)
        missing = [label for label in self.reported if method_of(label) is None]
        notes = []
        if missing:
            notes.append(f"Reported figures alone, no method yet: {', '.join(missing)}.")
        without = sorted({row["method"] for row in rows if not _has_preset(row)})
        if without:
            notes.append(
                f"Without published settings on some of these graphs, so with defaults there: {', '.join(without)}."
            )
        return Presentation([table], notes=notes, draw=lambda: draw_comparison(table, "test score, %"))

    def table(self, rows: Sequence[Row]) -> Table:
        theirs = {
            (label, dataset): pair for label, figures in self.reported.items() for dataset, pair in figures.items()
        }
        return comparison(
            f"test {self.score} in %, mean ± standard deviation over splits",
            collect(rows, ("row", "column")),
            theirs,
            list(self.reported),
            self.datasets,
            corner="method",
        )


def _has_preset(row: Row) -> bool:
    from unifilter.methods import METHODS

    return row["method"] in METHODS and row["dataset"] in METHODS[row["method"]].presets
