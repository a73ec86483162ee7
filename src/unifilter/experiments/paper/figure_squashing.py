"""The appendix' figure on over-squashing: accuracy on a binary tree, and influence by distance."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unifilter._internal.figures import new_figure
from unifilter.datasets.synthetic import binary_tree
from unifilter.experiments.engine.cells import Cell
from unifilter.experiments.engine.experiment import Experiment, Options, trained
from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.engine.sources import Facts
from unifilter.experiments.show.pictures import COLORS
from unifilter.experiments.show.presentation import Entry, Presentation, Table, collect, comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOPS = (3, 4, 5, 6, 7)
JACOBIAN = {"hops": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "taus": [0.0, 0.5, 1.0], "signals": 5}
_METHODS = {"GCN": ("gcn", "num_layers"), "UniFilter": ("unifilter", "hops")}


class FigureSquashing(Experiment):
    """GCN with k layers and UniFilter with k hops on a tree of 127 nodes; the Jacobian at distance k."""

    name: ClassVar[str] = "figure-squashing"
    title: ClassVar[str] = "Over-squashing on a binary tree"
    place: ClassVar[str] = "appendix, figure of over-squashing"
    datasets: ClassVar[tuple[str, ...]] = ("binary-tree",)
    open_to_others: ClassVar[bool] = False

    def methods(self) -> Sequence[str]:
        return [method for method, _ in _METHODS.values()]

    def cells(self, dataset: str, facts: Facts, options: Options) -> list[Cell]:
        cells = [Cell("jacobian", dataset, {"kind": "jacobian"}, settings=JACOBIAN)]
        for label, (method, depth) in _METHODS.items():
            for hop in HOPS:
                at = {"kind": "accuracy", "method": label, "hop": hop}
                cells += trained(method, dataset, facts, options, "60", at, changes={depth: hop})
        return cells

    def present(self, rows: Sequence[Row]) -> Presentation:
        theirs = {
            (label, str(hop)): value
            for label in _METHODS
            for hop, value in zip(self.reported["k"], self.reported[label], strict=True)
        }
        accuracy = comparison(
            "test accuracy in %",
            collect([row for row in rows if row["at"]["kind"] == "accuracy"], ("method", "hop")),
            theirs,
            list(_METHODS),
            [str(hop) for hop in HOPS],
            corner="k",
        )
        jacobian = next((row for row in rows if row["at"]["kind"] == "jacobian"), None)
        tables = [accuracy] + ([_jacobian_table(jacobian)] if jacobian else [])
        notes = [
            "Labels and features of this tree are random, so there is nothing to learn. A split trains on 25 nodes of "
            "each class and tests on 27 of the others, whose classes are not balanced: always answering the one that "
            f"is largest among them scores {largest_class():.1f} % over ten splits, the dotted line.",
            "Both methods have their defaults; the paper tunes both.",
            "Theorem 5.3 says that the Jacobian does not depend on k. It takes the rotation to be independent of the "
            "graph; here it is differentiated as it is.",
        ]
        return Presentation(tables, notes=notes, draw=lambda: _draw(accuracy, jacobian))


@cache
def largest_class() -> float:
    """Test accuracy in percent of always predicting the largest class of the test nodes, over ten splits."""
    tree = binary_tree()
    tested = [tree.labels[tree.split("60", index).test] for index in range(10)]
    return float(np.mean([100 * labels.bincount().max().item() / len(labels) for labels in tested]))


def _jacobian_table(row: Row) -> Table:
    names = tuple(f"tau = {tau:g}" for tau in row["settings"]["taus"])
    columns = tuple(str(hop) for hop in row["settings"]["hops"])
    entries = {
        (name, column): Entry((value,))
        for name, values in zip(names, row["outcome"]["means"], strict=True)
        for column, value in zip(columns, values, strict=True)
    }
    title = "mean of |∂z_u/∂x_v| at hop k over nodes u, v at distance k"
    return Table(title, names, columns, entries, digits=6, corner="k", over=None)


def _draw(accuracy: Table, jacobian: Row | None) -> Figure:
    figure = new_figure(figsize=(9.6, 4.0))
    left, right = figure.subplots(1, 2)
    for color, method in zip(COLORS, accuracy.rows, strict=False):
        entries = [accuracy.entry(method, str(hop)) for hop in HOPS]
        theirs = [entry.reported[0] if entry.reported else np.nan for entry in entries]
        left.plot(HOPS, theirs, ls="--", marker="o", mfc="white", ms=5, color=color, label=f"{method}, reported")
        ours = [entry.mean if entry.values else np.nan for entry in entries]
        left.plot(HOPS, ours, marker="o", ms=5, color=color, label=f"{method}, measured")
    left.axhline(largest_class(), color="0.4", lw=1, ls=":", label="always the largest class")
    left.set(xlabel="k, layers or hops", ylabel="test accuracy, %", xticks=HOPS)
    left.legend(fontsize=8)
    if jacobian is not None:
        for color, tau, values in zip(
            COLORS[2:], jacobian["settings"]["taus"], jacobian["outcome"]["means"], strict=False
        ):
            right.plot(jacobian["settings"]["hops"], values, marker="o", ms=4, color=color, label=f"tau = {tau:g}")
        right.set(xlabel="k, hop and distance", ylabel="mean |∂z_u/∂x_v|", yscale="log")
        right.set_xticks(jacobian["settings"]["hops"])
        right.legend(fontsize=8, frameon=False)
    return figure
