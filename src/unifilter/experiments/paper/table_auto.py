"""The portfolio beside the methods that it is made of, on many graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from unifilter._internal.plain import plain
from unifilter.experiments.engine.cells import Cell
from unifilter.experiments.engine.experiment import SIX_GRAPHS, Experiment, Options, split_indices, trained
from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.engine.sources import Facts
from unifilter.experiments.show.pictures import draw_comparison
from unifilter.experiments.show.presentation import (
    Presentation,
    Table,
    collect,
    comparison,
    differences,
    paired_interval,
    score_of,
)
from unifilter.experiments.show.reported import reported
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
# On the six graphs of Table 1, filters with the settings that their authors published for these graphs.
PUBLISHED = {
    f"{method}, published": method
    for method in ("unifilter", "gprgnn", "bernnet", "chebnetii", "jacobiconv", "specformer")
}
# With the splits they come with; the others are split 60/20/20.
_OFFICIAL = ("chameleon-filtered", "squirrel-filtered", "minesweeper")
_KINDS, _HOMOPHILY = ("informative", "uninformative"), (0.1, 0.3, 0.7, 0.9)
_GENERATED = tuple(f"{kind}@{homophily}" for kind in _KINDS for homophily in _HOMOPHILY)


class TableAuto(Experiment):
    """The portfolio and single methods, all with their defaults, on 23 graphs of every kind, and on the six graphs of
    Table 1 also filters with their published settings.

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
            for row, method in PUBLISHED.items() if dataset in SIX_GRAPHS else ():
                at = {"row": row, "column": dataset}
                found = trained(method, dataset, facts, options, rule, at, preset=dataset)
                cells += [cell for cell in found if cell.index == index]
            if options.trials is not None:
                cells += [
                    _tuned(method, Cell("tuned", dataset, {"row": row, "column": dataset}, rule, index), facts, options)
                    for row, method in TUNED.items()
                    if options.wants(method)
                ]
        return cells

    def methods(self) -> list[str]:
        return list(dict.fromkeys([*(method for method, _ in ROWS.values()), *PUBLISHED.values()]))

    def present(self, rows: Sequence[Row]) -> Presentation:
        common = _on_splits_of_all([row for row in rows if row["at"]["row"] in ROWS])
        labels = [label for label in ROWS if any(row["at"]["row"] == label for row in common)]
        table = comparison(
            "test score in % (ROC AUC on minesweeper)", collect(common, ("row", "column")), {}, labels, self.datasets,
            corner="method",
        )  # fmt: skip
        seconds = comparison(
            "seconds of training a split, all settings that were tried",
            collect(common, ("row", "column"), _seconds),
            {},
            labels,
            self.datasets,
            corner="method",
        )
        tables = [table, seconds, *_above_others(rows, self.datasets)]
        notes = [
            "The defaults of unifilter and unifilter-labels are five kinds of training, those of auto a portfolio of "
            "methods: they try more, and their seconds are those of all. The first two tables have the splits on which "
            "all of their methods were measured, and the differences those of auto and the other method.",
            *_budgets(rows),
            *_ranks(table),
            *_beside_reported(rows),
            *_against_auto(rows),
        ]
        return Presentation(tables, notes=notes, draw=lambda: draw_comparison(table, "test score, %"))


def _tuned(method: str, cell: Cell, facts: Facts, options: Options) -> Cell:
    """The cell of a method that is tuned; the chosen settings depend on the search space."""
    settings = {"metric": facts.metric, "trials": options.trials, **options.changes}
    settings["space"] = plain(find_method(method).search_space)
    return replace(cell, method=method, settings=settings)


def _beside_reported(rows: Sequence[Row]) -> list[str]:
    """A sentence on the portfolio and the paper's tuned UniFilter, over all splits of the portfolio."""
    measured = collect(rows, ("row", "column"))
    said = [
        f"{graph} {np.mean(measured[AUTO, graph]):.2f} and {figures[0]:.2f} (splits: {len(measured[AUTO, graph])})"
        for graph, figures in reported("table-polynomial")["UniFilter"].items()
        if (AUTO, graph) in measured
    ]
    if not said:
        return []
    return [f"auto, and what the paper reports for UniFilter tuned on each graph: {', '.join(said)}."]


def _above_others(rows: Sequence[Row], datasets: Sequence[str]) -> list[Table]:
    """Points of the portfolio above methods with published and with tuned settings."""
    points: dict[tuple[str, ...], list[float]] = {
        (other, column): values
        for other in (*PUBLISHED, *TUNED)
        for column, values in differences(rows, AUTO, other).items()
    }
    if not points:
        return []
    title = "points of auto above a method with published or tuned settings, on the same splits"
    return [
        comparison(
            title, points, {}, [], [name for name in datasets if any(name == at[1] for at in points)], corner="method"
        )
    ]


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
    for other in (*ROWS, *PUBLISHED, *TUNED):
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
