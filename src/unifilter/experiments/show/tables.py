"""Base class of the accuracy tables: methods in rows, data sets in columns."""

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

# Suffix of data sets with directed edges.
_DIRECTED = "-directed"


@dataclass(frozen=True)
class Contender:
    """What one row of a table trains.

    Attributes:
        method: Name of the method.
        changes: Settings that differ from the published ones.
        settings: The published settings of each data set, the defaults, or tuned settings on the data sets that have
            them.
        rule: Split rule, if it differs from that of the table.
        only_on: Data sets to train on; default: all.
        directed_on: Data sets on which the reported results are for directed edges, so that these are used.
    """

    method: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    settings: Literal["published", "tuned", "default"] = "published"
    rule: str | None = None
    only_on: tuple[str, ...] | None = None
    directed_on: tuple[str, ...] = ()


class AccuracyTable(Experiment):
    """All available methods reported in the paper, on every data set, with their published settings.

    A subclass may train other methods, or compare with other reported results.
    """

    rule: str
    score = "accuracy"

    def contenders(self) -> Mapping[str, Contender]:
        """What to train, by row label."""
        found = {label: method_of(label) for label in self.reported}
        return {label: Contender(method) for label, method in found.items() if method is not None}

    def methods(self) -> Sequence[str]:
        return [one.method for one in self.contenders().values()]

    def figures(self) -> Mapping[str, Mapping[str, Any]]:
        """Reported results by row label and data set."""
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
        """The data set whose published settings are used."""
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
