"""Beyond the paper: graphs without duplicate nodes, strong plain baselines, the same budget for all methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from unifilter._internal.plain import plain
from unifilter.experiments.engine.cells import CANDIDATES, Cell
from unifilter.experiments.engine.experiment import Experiment, Options, method_of, split_indices, trained
from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.engine.sources import Facts
from unifilter.experiments.show.pictures import draw_comparison
from unifilter.experiments.show.presentation import Presentation, Table, collect, comparison, paired_interval, score_of
from unifilter.experiments.show.reported import reported
from unifilter.methods import METHODS, find_method

# What a new filter has to beat: they know no spectrum, and each is a few lines of code.
# Baselines that a new filter has to beat: they use no spectrum, and each is a few lines of code.
PLAIN = ("mlp", "gcn", "gcn-res")


class TableBeyond(Experiment):
    """Every polynomial filter and the plain baselines on filtered chameleon and squirrel and on minesweeper.

    The splits are those that come with the data. All methods use their defaults, or all are tuned with the same number
    of trials.
    """

    name: ClassVar[str] = "table-beyond"
    title: ClassVar[str] = "Filtered graphs and plain baselines"
    datasets: ClassVar[tuple[str, ...]] = ("chameleon-filtered", "squirrel-filtered", "minesweeper")

    def cells(self, dataset: str, facts: Facts, options: Options) -> list[Cell]:
        cells = []
        for method in self.methods():
            at = {"row": method, "column": dataset}
            if options.trials is None:
                cells += trained(method, dataset, facts, options, "official", at)
            elif options.wants(method):
                # The chosen settings depend on the search space.
                space = plain(find_method(method).search_space)
                settings = {"metric": facts.metric, "trials": options.trials, "space": space, **options.changes}
                cells += [
                    Cell("tuned", dataset, at, "official", index, method, settings)
                    for index in split_indices("official", facts, options)
                ]
        return cells

    def methods(self) -> list[str]:
        """The available methods of Table 1, and the plain baselines."""
        polynomial = [method for label in reported("table-polynomial") if (method := method_of(label)) is not None]
        return [*polynomial, *(name for name in PLAIN if name in METHODS)]

    def present(self, rows: Sequence[Row]) -> Presentation:
        # Stored rows may have different budgets; a table compares rows with the same one.
        budget = max((_trials(row) for row in rows), default=0)
        rows = [row for row in rows if _trials(row) == budget]
        table = comparison(
            "test score in % (ROC AUC on minesweeper)",
            collect(rows, ("row", "column")),
            {},
            self.methods(),
            self.datasets,
            corner="method",
        )
        notes = [_said_budget(budget, rows)]
        intervals = _against_plain(rows, table, notes)
        return Presentation([table, *intervals], notes=notes, draw=lambda: draw_comparison(table, "test score, %"))


def _trials(row: Row) -> int:
    """Number of settings tried; 0 if a method uses its defaults."""
    return int(row["settings"].get("trials", 0))


def _said_budget(trials: int, rows: Sequence[Row]) -> str:
    if trials:
        return f"One budget for all: {trials} settings for each method, tried on the validation nodes of each split."
    several = {row["method"]: len(row["settings"][CANDIDATES]) for row in rows if CANDIDATES in row["settings"]}
    said = "".join(
        f" The defaults of {method} are {count} kinds of training, of which the validation nodes choose: that is a "
        "larger budget; tuning all with the same number of trials removes the difference."
        for method, count in several.items()
    )
    return f"Every method has its defaults, none was tuned on these graphs.{said}"


def _against_plain(rows: Sequence[Row], table: Table, notes: list[str]) -> list[Table]:
    """Differences to the best plain baseline on each split, and a sentence for each graph on who is behind."""
    differences: dict[tuple[str, ...], list[float]] = {}
    for dataset in table.columns:
        scores = {
            method: {row["index"]: row for row in rows if row["at"] == {"row": method, "column": dataset}}
            for method in table.rows
        }
        plain = [method for method in PLAIN if scores.get(method)]
        if not plain:
            continue
        # Chosen by validation score: choosing by test score would be biased.
        best = max(plain, key=lambda method: _validation(list(scores[method].values())))
        verdicts: dict[str, list[str]] = {"ahead": [], "tie": [], "behind": []}
        for method, found in scores.items():
            both = sorted(found.keys() & scores[best].keys())
            if method in PLAIN or not both:
                continue
            paired = [score_of(found[index]) - score_of(scores[best][index]) for index in both]
            differences[method, dataset] = paired
            sizes = found[both[0]]["outcome"]
            interval = paired_interval(paired, sizes["test_nodes"] / sizes["train_nodes"])
            if interval is not None:
                text = f"{method} ({interval.mean:+.2f}, 95 % interval {interval.low:+.2f} to {interval.high:+.2f})"
                verdicts[interval.verdict].append(text)
        said = [f"{verdict}: {', '.join(names)}" for verdict, names in verdicts.items() if names]
        notes.append(
            f"{dataset}, points above the best plain baseline by validation score, {best}: "
            f"{'; '.join(said) or 'one split has no interval'}."
        )
    if not differences:
        return []
    return [
        comparison(
            "points above the best plain baseline on the same split",
            differences,
            {},
            [method for method in table.rows if method not in PLAIN],
            table.columns,
            corner="method",
        )
    ]


def _validation(rows: Sequence[Row]) -> float:
    return float(np.mean([row["outcome"][f"val_{row['settings']['metric']}"] for row in rows]))
