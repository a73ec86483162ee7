"""Figure 5: Dirichlet energy of UniBasis over a hundred hops, and the limit claimed by Theorem 5.2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unifilter.experiments.engine.cells import Cell
from unifilter.experiments.engine.experiment import Experiment, Options
from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.engine.sources import Facts
from unifilter.experiments.show.pictures import COLORS, panels, shared_legend
from unifilter.experiments.show.presentation import Entry, Presentation, Table
from unifilter.methods import METHODS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TAUS = (0.2, 0.4, 0.8, 1.0)
_HOPS = 100
# The limit is the mean of the last hops, which averages over the oscillation between even and odd hops.
_LAST = 10


class FigureSmoothing(Experiment):
    """The energy for k = 1..100 and four values of tau on Cora and Squirrel."""

    name: ClassVar[str] = "figure-smoothing"
    title: ClassVar[str] = "Dirichlet energy over the hops"
    place: ClassVar[str] = "Figure 5"
    datasets: ClassVar[tuple[str, ...]] = ("cora", "squirrel")

    def cells(self, dataset: str, facts: Facts, options: Options) -> list[Cell]:
        features = METHODS["unifilter"].presets.get(dataset, {}).get("features", "raw")
        settings = {"hops": _HOPS, "taus": list(TAUS), "features": features}
        return [Cell("energy", dataset, {"dataset": dataset}, settings=settings)]

    def present(self, rows: Sequence[Row]) -> Presentation:
        tables = [_limits(row) for row in rows]
        notes = [
            "Every feature column is divided by its length first. The paper prints curves and no values.",
            "Theorem 5.2 claims the limit (1 - tau) E(X). Its proof takes the factor 1 - tau out of a squared norm "
            "once, where (1 - tau)^2 belongs, takes P^k x for constant, which it is on regular graphs alone, and lets "
            "the rotation act on rows, where it acts on columns: the three lines of the table differ.",
        ]
        return Presentation(tables, notes=notes, draw=(lambda: _draw(rows)) if rows else None)


def _limits(row: Row) -> Table:
    """Claimed and measured limits for each tau."""
    start, energies = row["outcome"]["start"], np.array(row["outcome"]["energies"])
    lines = {
        "claimed limit, (1 - tau) E(X)": [(1 - tau) * start for tau in row["settings"]["taus"]],
        "with the factor squared, (1 - tau)^2 E(X)": [(1 - tau) ** 2 * start for tau in row["settings"]["taus"]],
        f"measured, mean of the last {_LAST} hops": energies[:, -_LAST:].mean(axis=1).tolist(),
    }
    columns = tuple(str(tau) for tau in row["settings"]["taus"])
    entries = {
        (name, column): Entry((value,))
        for name, values in lines.items()
        for column, value in zip(columns, values, strict=True)
    }
    return Table(
        f"{row['at']['dataset']}: energy as k grows, E(X) = {start:.4g}", tuple(lines), columns, entries, digits=4,
        corner="tau", over=None,
    )  # fmt: skip


def _draw(rows: Sequence[Row]) -> Figure:
    figure, grid = panels(len(rows), width=4.8, height=3.6, per_row=2)
    for axes, row in zip(grid, rows, strict=True):
        energies = np.array(row["outcome"]["energies"])
        hops = np.arange(energies.shape[1])
        for color, tau, energy in zip(COLORS, row["settings"]["taus"], energies, strict=False):
            axes.plot(hops[1:], energy[1:], color=color, label=f"tau = {tau}")
            if tau < 1:
                axes.axhline((1 - tau) * row["outcome"]["start"], color=color, ls=":", lw=1)
        axes.plot([], [], color="0.4", ls=":", lw=1, label="limit claimed by Theorem 5.2 (0 for tau = 1)")
        axes.set(title=row["at"]["dataset"], xlabel="hop k", ylabel="Dirichlet energy", yscale="log")
        axes.grid(color="0.92")
    shared_legend(figure, grid, columns=5)
    return figure
