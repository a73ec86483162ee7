"""What the tables of accuracies share: methods down the side, data sets along the top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from unifilter.experiments.engine.cells import Cell
from unifilter.experiments.engine.experiment import Experiment, Options, method_of, trained
from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.engine.sources import Facts
from unifilter.experiments.show.pictures import draw_comparison
from unifilter.experiments.show.presentation import Presentation, Table, collect, comparison
from unifilter.methods import METHODS, settings_for

# How a data set is called that has the direction of its edges.
_DIRECTED = "-directed"


@dataclass(frozen=True)
class Contender:
    """What one row of a table trains.

    Attributes:
        method: The name of the method.
        changes: Settings that differ from the published ones.
        settings: The published ones of each data set, the defaults, or those that were tuned, on the data sets that
            have any.
        rule: Of its splits, where they are others than those of the table.
        only_on: The data sets that it is trained on, if not on all.
        directed_on: Data sets that it is trained on with the direction of their edges, because its figures are.
    """

    method: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    settings: Literal["published", "tuned", "default"] = "published"
    rule: str | None = None
    only_on: tuple[str, ...] | None = None
    directed_on: tuple[str, ...] = ()


class AccuracyTable(Experiment):
    """Every method that the paper reports and that is there, on every data set, with its published settings.

    A subclass may train something else in its rows, or set other figures beside them.
    """

    rule: str
    score = "accuracy"

    def contenders(self) -> Mapping[str, Contender]:
        """What is trained, by the label of its row."""
        found = {label: method_of(label) for label in self.reported}
        return {label: Contender(method) for label, method in found.items() if method is not None}

    def methods(self) -> Sequence[str]:
        return [one.method for one in self.contenders().values()]

    def figures(self) -> Mapping[str, Mapping[str, Any]]:
        """What is reported, by the label of the row and the data set."""
        return self.reported

    def sources_of(self, dataset: str) -> tuple[str, ...]:
        directed = any(dataset in one.directed_on for one in self.contenders().values())
        return (dataset, f"{dataset}{_DIRECTED}") if directed else (dataset,)

    def cells(self, dataset: str, facts: Facts, options: Options) -> list[Cell]:
        cells = []
        column = dataset.removesuffix(_DIRECTED)
        for label, one in self.contenders().items():
            directed = column != dataset
            if (column in one.directed_on) != directed or (one.only_on is not None and column not in one.only_on):
                continue
            at = {"row": label, "column": column}
            preset = self.settings_of(dataset)
            rule = one.rule or self.rule_of(column)
            tuned = settings_for(METHODS[one.method].tuned, preset, rule) if one.settings == "tuned" else {}
            if one.settings == "tuned" and not tuned:
                continue
            cells += trained(
                one.method,
                dataset,
                facts,
                options,
                rule,
                at,
                changes={**tuned, **one.changes},
                preset=None if one.settings == "default" else preset,
            )
        return cells

    def rule_of(self, dataset: str) -> str:
        """Of the splits of a data set."""
        return self.rule

    def settings_of(self, dataset: str) -> str:
        """Whose published settings a data set is trained with."""
        return dataset

    def present(self, rows: Sequence[Row]) -> Presentation:
        table, contenders = self.table(rows), self.contenders()
        notes = []
        missing = [label for label in self.figures() if label not in contenders]
        if missing:
            notes.append(f"Reported figures alone, no method yet: {', '.join(missing)}.")
        with_defaults = {label for label, one in contenders.items() if one.settings == "default"}
        meant = [row for row in rows if row["at"]["row"] not in with_defaults]
        without = sorted(
            {
                row["method"]
                for row in meant
                if not settings_for(METHODS[row["method"]].presets, self.settings_of(row["dataset"]), self.rule)
            }
        )
        if without:
            notes.append(
                f"Without published settings on some of these graphs, so with defaults there: {', '.join(without)}."
            )
        return Presentation([table], notes=notes, draw=lambda: draw_comparison(table, "test score, %"))

    def table(self, rows: Sequence[Row]) -> Table:
        theirs = {(label, dataset): pair for label, pairs in self.figures().items() for dataset, pair in pairs.items()}
        return comparison(
            f"test {self.score} in %",
            collect(rows, ("row", "column")),
            theirs,
            list(dict.fromkeys([*self.figures(), *self.contenders()])),
            self.datasets,
            corner="method",
        )
