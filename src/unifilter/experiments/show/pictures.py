"""Plots shared by several experiments. Reported results are hollow or dashed, measured ones solid."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unifilter._internal.figures import new_figure
from unifilter.experiments.engine.files import write_whole
from unifilter.experiments.show.presentation import Presentation, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Paul Tol's bright palette, which is color-blind safe.
COLORS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb")
MEASURED, REPORTED = "#4477aa", "#ee6677"
_PANELS_PER_ROW = 3


def panels(count: int, width: float = 3.6, height: float = 3.0, per_row: int = _PANELS_PER_ROW) -> tuple[Figure, Any]:
    """A figure with ``count`` panels, and the panels."""
    columns = min(count, per_row)
    rows = math.ceil(count / columns)
    figure = new_figure(figsize=(max(width * columns, 5.2), height * rows + 0.5))
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for unused in grid[count:]:
        unused.set_axis_off()
    return figure, grid[:count]


def shared_legend(figure: Figure, axes: Sequence[Axes], columns: int = 4) -> None:
    """One legend for all panels, below them."""
    named = {name: handle for one in axes for handle, name in zip(*one.get_legend_handles_labels(), strict=True)}
    if named:
        ncols = min(columns, len(named))
        figure.legend(list(named.values()), list(named), loc="outside lower center", ncols=ncols, frameon=False)


def draw_comparison(table: Table, unit: str) -> Figure:
    """A panel for each column of a table, with reported and measured results and one standard deviation."""
    columns = [name for name in table.columns if any(table.entry(row, name).verdict != "missing" for row in table.rows)]
    figure, grid = panels(max(len(columns), 1), height=0.6 + 0.24 * len(table.rows))
    for number, (axes, column) in enumerate(zip(grid, columns, strict=False)):
        entries = [table.entry(row, column) for row in table.rows]
        theirs = [(place, entry.reported) for place, entry in enumerate(entries) if entry.reported is not None]
        ours = [(place, entry) for place, entry in enumerate(entries) if entry.values]
        if theirs:
            axes.errorbar(
                [pair[0] for _, pair in theirs], [place - 0.16 for place, _ in theirs],
                xerr=[pair[1] or 0 for _, pair in theirs], fmt="o", color=REPORTED, mfc="white", ms=4, elinewidth=1,
                label="reported, ± one deviation",
            )  # fmt: skip
        if ours:
            axes.errorbar(
                [entry.mean for _, entry in ours], [place + 0.16 for place, _ in ours],
                xerr=[entry.deviation for _, entry in ours], fmt="o", color=MEASURED, ms=4, elinewidth=1,
                label="measured, ± one deviation",
            )  # fmt: skip
        axes.set(title=column, xlabel=unit, ylim=(len(table.rows) - 0.5, -0.5))
        # Panels in a row share their labels, so only the first shows them.
        named = number % _PANELS_PER_ROW == 0
        axes.set_yticks(range(len(table.rows)), table.rows if named else [""] * len(table.rows), fontsize=8)
        axes.grid(color="0.92")
    shared_legend(figure, grid)
    return figure


def draw_lines(
    table: Table, x: Sequence[float], xlabel: str, ylabel: str, *, categorical: bool = False, per_row: int = 2
) -> Figure:
    """A panel for each row of a table, with its columns along the x axis: measured solid, reported dashed."""
    rows = [row for row in table.rows if any(table.entry(row, column).verdict != "missing" for column in table.columns)]
    figure, grid = panels(max(len(rows), 1), width=4.4, height=3.0, per_row=per_row)
    places = np.arange(len(x)) if categorical else np.asarray(x)
    for axes, row in zip(grid, rows, strict=False):
        draw_row(axes, table, row, places)
        axes.set(title=row, xlabel=xlabel, ylabel=ylabel)
        if categorical:
            axes.set_xticks(places, [f"{value:g}" for value in x])
        axes.grid(color="0.92")
    shared_legend(figure, grid)
    return figure


def draw_row(axes: Axes, table: Table, row: str, x: np.ndarray, colors: tuple[str, str] = (MEASURED, REPORTED)) -> None:
    """Plot one row of a table as two curves."""
    entries = [table.entry(row, column) for column in table.columns]
    theirs = [(place, entry.reported) for place, entry in zip(x, entries, strict=True) if entry.reported is not None]
    ours = [(place, entry) for place, entry in zip(x, entries, strict=True) if entry.values]
    if theirs:
        axes.errorbar(
            [place for place, _ in theirs], [pair[0] for _, pair in theirs], [pair[1] or 0 for _, pair in theirs],
            color=colors[1], ls="--", marker="o", mfc="white", ms=4, lw=1.2, elinewidth=0.8, capsize=2,
            label="reported",
        )  # fmt: skip
    if ours:
        axes.errorbar(
            [place for place, _ in ours], [entry.mean for _, entry in ours], [entry.deviation for _, entry in ours],
            color=colors[0], marker="o", ms=4, lw=1.2, elinewidth=0.8, capsize=2, label="measured",
        )  # fmt: skip


def save_picture(presentation: Presentation, files: Mapping[Path, str]) -> None:
    """Draw the plot of an experiment, if it has one, and save it in every requested format."""
    if presentation.draw is None:
        return
    figure = presentation.draw()
    for path, kind in files.items():
        content = io.BytesIO()
        # Without the date, the same rows give the same file.
        figure.savefig(content, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
        write_whole(path, content.getvalue())
