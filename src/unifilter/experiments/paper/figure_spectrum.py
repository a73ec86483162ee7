"""Figure 2: the learned weights over the frequencies of the trained basis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unifilter.experiments.engine.cells import Cell
from unifilter.experiments.engine.experiment import SIX_GRAPHS, Experiment, Options, trained
from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.engine.sources import Facts
from unifilter.experiments.show.pictures import MEASURED, REPORTED, panels, shared_legend
from unifilter.experiments.show.presentation import Entry, Presentation, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class FigureSpectrum(Experiment):
    """UniFilter with its published settings on six graphs: weight and frequency of every hop, averaged over splits."""

    name: ClassVar[str] = "figure-spectrum"
    title: ClassVar[str] = "Learned weights over the frequencies of the basis"
    place: ClassVar[str] = "Figure 2"
    datasets: ClassVar[tuple[str, ...]] = SIX_GRAPHS

    def cells(self, dataset: str, facts: Facts, options: Options) -> list[Cell]:
        return trained("unifilter", dataset, facts, options, "60", {"dataset": dataset}, preset=dataset)

    def present(self, rows: Sequence[Row]) -> Presentation:
        measured = {name: _series(rows, name) for name in dict.fromkeys(row["at"]["dataset"] for row in rows)}
        # The paper prints x^T L x, twice the frequency of its Definition 2.2.
        theirs = {
            name: np.array(points, dtype=float) * [0.5, 1.0]
            for name, points in self.reported.items()
            if name in measured
        }
        tables = [
            _table(name, kind, column, measured, theirs)
            for name in measured
            for column, kind in enumerate(("frequency", "weight"))
        ]
        notes = [
            "Frequencies are Definition 2.2, in [0, 1], averaged over features. The paper prints x^T L x, half of "
            "which is shown; it does not say how features were scaled and averaged, nor which split it shows."
        ]
        return Presentation(tables, notes=notes, draw=(lambda: _draw(measured, theirs)) if measured else None)


def _series(rows: Sequence[Row], dataset: str) -> np.ndarray:
    """Frequency and weight of every hop on every split, ``[splits, hops + 1, 2]``."""
    found = [row["outcome"] for row in rows if row["at"]["dataset"] == dataset]
    return np.array([list(zip(one["frequencies"], one["weights"], strict=True)) for one in found])


def _table(
    dataset: str, kind: str, column: int, measured: dict[str, np.ndarray], theirs: dict[str, np.ndarray]
) -> Table:
    hops = [str(hop) for hop in range(measured[dataset].shape[1])]
    entries = {}
    for hop, name in enumerate(hops):
        points = theirs.get(dataset)
        pair = None if points is None or hop >= len(points) else (float(points[hop, column]), None)
        entries[dataset, name] = Entry(tuple(measured[dataset][:, hop, column].tolist()), pair)
    return Table(f"{dataset}: {kind} of each hop", (dataset,), tuple(hops), entries, digits=3, corner="hop")


def _draw(measured: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> Figure:
    figure, grid = panels(len(measured))
    for axes, (dataset, points) in zip(grid, measured.items(), strict=True):
        ours = points.mean(axis=0)
        axes.axhline(0, color="0.6", lw=0.8)
        if dataset in theirs:
            axes.vlines(theirs[dataset][:, 0], 0, theirs[dataset][:, 1], color=REPORTED, lw=1, ls="--")
            axes.plot(*theirs[dataset].T, "o", color=REPORTED, mfc="white", ms=4, label="reported")
        axes.vlines(ours[:, 0], 0, ours[:, 1], color=MEASURED, lw=2)
        axes.plot(*ours.T, "o", color=MEASURED, ms=4, label="measured, mean over splits")
        axes.set(title=dataset, xlabel="frequency f(x), Definition 2.2", ylabel="weight w")
    shared_legend(figure, grid)
    return figure
