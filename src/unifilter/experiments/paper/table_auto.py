"""The portfolio beside the methods that it is made of, on many graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from unifilter._internal.plain import plain
from unifilter.experiments.engine.cells import Cell
from unifilter.experiments.engine.experiment import Experiment, Options, split_indices, trained
from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.engine.sources import Facts
from unifilter.experiments.show.pictures import draw_comparison
from unifilter.experiments.show.presentation import Presentation, Table, collect, comparison, paired_interval, score_of
from unifilter.methods import find_method

# Rows of the table: what it is called, the method, and what differs from its defaults.
AUTO, FAST = "auto", "auto, fast"
ROWS: dict[str, tuple[str, dict[str, str]]] = {
    AUTO: ("auto", {}),
    FAST: ("auto", {"quality": "fast"}),
    **{
        name: (name, {})
        for name in ("unifilter", "unifilter-labels", "gprgnn", "gcn-res", "acm-gcn", "linkx", "chebnet", "mlp")
    },
}
# Every single method again, with settings tuned on the validation nodes.
TUNED = {f"{row}, tuned": method for row, (method, _) in ROWS.items() if method != "auto"}
# With the splits they come with; the others are split 60/20/20.
_OFFICIAL = ("chameleon-filtered", "squirrel-filtered", "minesweeper")
_KINDS, _HOMOPHILY = ("informative", "uninformative"), (0.1, 0.3, 0.7, 0.9)
_GENERATED = tuple(f"{kind}@{homophily}" for kind in _KINDS for homophily in _HOMOPHILY)


class TableAuto(Experiment):
    """The portfolio and single methods, all with their defaults, on 23 graphs of every kind.

    With ``trials``, every single method is also tuned on the validation nodes with this number of settings per split.
    ``auto`` is not tuned: it tries as many settings as it has members.
    """

    name: ClassVar[str] = "table-auto"
    title: ClassVar[str] = "A portfolio instead of a method"
    datasets: ClassVar[tuple[str, ...]] = (
        "texas", "wisconsin", "cornell", "chameleon-filtered", "reed98", "digits", *_GENERATED, "cora", "citeseer",
        "chameleon", "squirrel-filtered", "minesweeper", "actor", "squirrel", "pubmed", "cornell5",
    )  # fmt: skip

    def cells(self, dataset: str, facts: Facts, options: Options) -> list[Cell]:
        rule = "official" if dataset in _OFFICIAL else "60"
        cells = []
        # Split by split, so that an interrupted run has all methods on the first ones.
        for index in split_indices(rule, facts, options):
            for row, (method, changes) in ROWS.items():
                at = {"row": row, "column": dataset}
                found = trained(method, dataset, facts, options, rule, at, changes=changes)
                cells += [cell for cell in found if cell.index == index]
            if options.trials is not None:
                cells += [
                    _tuned(method, Cell("tuned", dataset, {"row": row, "column": dataset}, rule, index), facts, options)
                    for row, method in TUNED.items()
                    if options.wants(method)
                ]
        return cells

    def methods(self) -> list[str]:
        return list(dict.fromkeys(method for method, _ in ROWS.values()))

    def present(self, rows: Sequence[Row]) -> Presentation:
        rows = _on_splits_of_all(rows)
        measured = {row["at"]["row"] for row in rows}
        labels = [label for label in (*ROWS, *TUNED) if label in measured]
        table = comparison(
            "test score in % (ROC AUC on minesweeper)", collect(rows, ("row", "column")), {}, labels, self.datasets,
            corner="method",
        )  # fmt: skip
        seconds = comparison(
            "seconds of training a split, all settings that were tried",
            collect(rows, ("row", "column"), _seconds),
            {},
            labels,
            self.datasets,
            corner="method",
        )
        notes = [
            "The defaults of unifilter are five kinds of training, those of auto a portfolio of methods: they try "
            "more, and their seconds are those of all. Only splits on which every row was measured count.",
            *_budgets(rows),
            *_ranks(table),
            *_against_auto(rows),
        ]
        return Presentation([table, seconds], notes=notes, draw=lambda: draw_comparison(table, "test score, %"))


def _tuned(method: str, cell: Cell, facts: Facts, options: Options) -> Cell:
    """The cell of a method that is tuned; the chosen settings depend on the search space."""
    settings = {"metric": facts.metric, "trials": options.trials, **options.changes}
    settings["space"] = plain(find_method(method).search_space)
    return replace(cell, method=method, settings=settings)


def _seconds(row: Row) -> float:
    return float(row["outcome"]["seconds"]) + float(row["outcome"].get("search_seconds", 0.0))


def _budgets(rows: Sequence[Row]) -> list[str]:
    """How many settings were tried on a split."""
    trials = sorted({row["settings"]["trials"] for row in rows if "trials" in row["settings"]})
    members = [len(row["outcome"]["members"]) for row in rows if row["at"]["row"] == AUTO]
    if not trials or not members:
        return []
    return [
        f'Rows with "tuned" tried {" or ".join(map(str, trials))} settings on the validation nodes of each split, and '
        f"auto {min(members)} to {max(members)}, one for each member."
    ]


def _on_splits_of_all(rows: Sequence[Row]) -> list[Row]:
    """Rows of the splits on which every method of their graph was measured: all means are over the same ones."""
    measured: dict[tuple[str, int], set[str]] = {}
    for row in rows:
        measured.setdefault((row["at"]["column"], row["index"]), set()).add(row["at"]["row"])
    wanted: dict[str, set[str]] = {}
    for (column, _), found in measured.items():
        wanted[column] = wanted.get(column, set()) | found
    return [row for row in rows if measured[row["at"]["column"], row["index"]] == wanted[row["at"]["column"]]]


def _ranks(table: Table) -> list[str]:
    """The mean rank of every method over the graphs, and its mean score as a share of the way from worst to best."""
    means = {
        column: {row: float(np.mean(table.entries[row, column].values)) for row in table.rows}
        for column in table.columns
        if all((row, column) in table.entries for row in table.rows)
    }
    if not means:
        return []
    said = []
    for row in table.rows:
        ranks = [1 + sum(score > found[row] for score in found.values()) for found in means.values()]
        spans = [(max(found.values()) - min(found.values())) or 1.0 for found in means.values()]
        shares = [(found[row] - min(found.values())) / span for found, span in zip(means.values(), spans, strict=True)]
        said.append((float(np.mean(ranks)), f"{row} {np.mean(ranks):.2f} ({np.mean(shares):.2f})"))
    ordered = ", ".join(text for _, text in sorted(said))
    return [
        f"Mean rank over {len(means)} graphs, and in parentheses the mean score, 0 for the worst method on a graph and "
        f"1 for the best: {ordered}."
    ]


def _against_auto(rows: Sequence[Row]) -> list[str]:
    """Points of the portfolio above each other method, split by split; a sentence for each method."""
    scores = {(row["at"]["row"], row["at"]["column"], row["index"]): row for row in rows}
    said = []
    for other in (*ROWS, *TUNED):
        if other == AUTO:
            continue
        verdicts: dict[str, list[str]] = {"ahead": [], "tie": [], "behind": []}
        for column in dict.fromkeys(row["at"]["column"] for row in rows):
            pairs = [
                (row, scores.get((other, column, index)))
                for (name, where, index), row in scores.items()
                if name == AUTO and where == column
            ]
            pairs = [pair for pair in pairs if pair[1] is not None]
            if not pairs:
                continue
            sizes = pairs[0][0]["outcome"]
            paired = [score_of(mine) - score_of(theirs) for mine, theirs in pairs if theirs is not None]
            interval = paired_interval(paired, sizes["test_nodes"] / sizes["train_nodes"])
            if interval is not None:
                verdicts[interval.verdict].append(f"{column} {interval.mean:+.2f}")
        found = [f"{verdict}: {', '.join(names)}" for verdict, names in verdicts.items() if names]
        if found:
            said.append(f"auto against {other} by 95 % intervals, mean points: {'; '.join(found)}.")
    return said
