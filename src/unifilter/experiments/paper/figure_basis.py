"""Figure 1: the homophily basis converges, and how the heterophily basis is built, with real vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unifilter._internal.figures import new_figure
from unifilter.experiments.engine.cells import Cell
from unifilter.experiments.engine.experiment import Experiment, Options
from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.engine.sources import Facts
from unifilter.experiments.show.pictures import COLORS
from unifilter.experiments.show.presentation import Entry, Presentation, Table
from unifilter.methods import METHODS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HOPS = 10


class FigureBasis(Experiment):
    """One signal of a homophilous and one of a heterophilous graph; the paper draws made-up vectors."""

    name: ClassVar[str] = "figure-basis"
    title: ClassVar[str] = "The two bases in space"
    place: ClassVar[str] = "Figure 1"
    datasets: ClassVar[tuple[str, ...]] = ("cora", "chameleon")

    def cells(self, dataset: str, facts: Facts, options: Options) -> list[Cell]:
        features = METHODS["unifilter"].presets.get(dataset, {}).get("features", "raw")
        return [Cell("directions", dataset, {"dataset": dataset}, settings={"hops": _HOPS, "features": features})]

    def present(self, rows: Sequence[Row]) -> Presentation:
        columns = tuple(f"{hop}, {hop + 1}" for hop in range(0, _HOPS, 2))
        entries = {
            (row["at"]["dataset"], column): Entry((row["outcome"]["angles"][2 * place],))
            for row in rows
            for place, column in enumerate(columns)
        }
        names = tuple(row["at"]["dataset"] for row in rows)
        table = Table(
            "angle between neighbors of the homophily basis, degrees", names, columns, entries, digits=1,
            corner="hops", over=None,
        )  # fmt: skip
        notes = [
            "The signal is the feature column that most nodes have. On the left the directions of P^k x, in the three "
            "dimensions that hold most of them; on the right u_0, u_1 and u_2 on the orthonormal vectors, exactly.",
            *(_note(row) for row in rows),
        ]
        return Presentation([table], notes=notes, draw=(lambda: _draw(rows)) if rows else None)


def _note(row: Row) -> str:
    outcome = row["outcome"]
    theta = 90 * (1 - outcome["homophily"])
    inner = np.array(outcome["inner"])
    error = float(np.abs(inner - np.cos(math.radians(theta)))[~np.eye(len(inner), dtype=bool)].max())
    return (
        f"{row['at']['dataset']}: three dimensions hold {outcome['held']:.1%} of the homophily basis. At homophily "
        f"{outcome['homophily']:.2f} the angle is {theta:.1f} degrees; inner products are its cosine to within "
        f"{max(error, 1e-15):.0e}."
    )


def _draw(rows: Sequence[Row]) -> Figure:
    figure = new_figure(figsize=(9.6, 4.0 * len(rows)))
    for place, row in enumerate(rows):
        left = figure.add_subplot(len(rows), 2, 2 * place + 1, projection="3d")
        right = figure.add_subplot(len(rows), 2, 2 * place + 2, projection="3d")
        _draw_smooth(left, row)
        _draw_built(right, row)
    return figure


def _draw_smooth(axes: Any, row: Row) -> None:
    """Directions of P^k x, from light to dark."""
    points = np.array(row["outcome"]["smooth"])
    points = points * np.where(points.mean(axis=0) < 0, -1, 1)  # the sign of a singular vector means nothing
    for hop, point in enumerate(points):
        light = 0.8 * (1 - hop / _HOPS)
        axes.plot(*_arrow(point), color=(light, 0.3 + 0.6 * light, 0.6 + 0.4 * light), lw=1.8)
        if hop <= 2 or hop == _HOPS:
            axes.text(*(1.1 * point), ["$x$", "$Px$"][hop] if hop < 2 else f"$P^{{{hop}}}x$", fontsize=10)
    axes.plot(*points.T, color="0.4", lw=0.7, ls=":", marker="o", ms=3)
    axes.set_title(f"{row['at']['dataset']}: the homophily basis converges", fontsize=11)
    _frame(axes, points, (20, -50))


def _draw_built(axes: Any, row: Row) -> None:
    """u_k is a multiple of the sum of those before, and as much of v_k as makes the angle right."""
    vectors = np.array(row["outcome"]["built"])
    for number, unit in enumerate(np.eye(3)):
        axes.plot(*_arrow(unit), color="0.7", lw=1)
        if number:
            axes.text(*(1.05 * unit), f"$v_{number}$", fontsize=10, color="0.4")
    for number, (vector, color) in enumerate(zip(vectors, COLORS, strict=False)):
        axes.plot(*_arrow(vector), color=color, lw=2.4)
        axes.text(*(1.12 * vector), "$u_0 = v_0$" if number == 0 else f"$u_{number}$", fontsize=11, color=color)
        if number:
            foot = np.where(np.arange(3) == number, 0, vector)  # what it has of the vectors before
            axes.plot(*_arrow(foot), color=color, lw=1, ls=":")
            axes.plot(*np.stack([foot, vector]).T, color=color, lw=1.2, ls="--")
    theta = 90 * (1 - row["outcome"]["homophily"])
    axes.set_title(
        f"{row['at']['dataset']}: $u_k = a_k(u_0 + \\dots + u_{{k-1}}) + b_k v_k$, all at {theta:.0f}°", fontsize=11
    )
    _frame(axes, np.concatenate([vectors, np.eye(3)]), (22, 30))


def _arrow(point: np.ndarray) -> np.ndarray:
    """From the origin."""
    return np.stack([np.zeros(3), point]).T


def _frame(axes: Any, points: np.ndarray, view: tuple[float, float]) -> None:
    """As close as the vectors and the origin allow, with one scale for all three directions."""
    low, high = np.minimum(points.min(axis=0), 0), np.maximum(points.max(axis=0), 0)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    axes.set_box_aspect(high - low, zoom=1.0)
    axes.view_init(*view)
    axes.set_axis_off()
