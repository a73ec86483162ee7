"""Plots of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unifilter._internal.figures import new_figure


def plot_weights(weights: np.ndarray, title: str, path: Path) -> None:
    """Plot learned weights ``[splits, hops + 1]``; for several splits, mean, standard deviation and single values."""
    figure = new_figure(figsize=(6, 3.7))
    axes = figure.add_subplot()
    splits, hops = len(weights), np.arange(weights.shape[1])
    axes.axhline(0, color="0.6", linewidth=0.8)
    label = "1 split" if splits == 1 else f"mean ± standard deviation of {splits} splits"
    spread = None if splits == 1 else weights.std(axis=0)
    axes.bar(hops, weights.mean(axis=0), 0.7, yerr=spread, capsize=3, color="#88aacc", label=label)
    if splits > 1:
        dots = axes.plot(hops, weights.T, ".", color="#aa3377", markersize=4)
        dots[0].set_label("one split")
    axes.set(xlabel="hop k", ylabel="learned weight", title=title)
    axes.locator_params(axis="x", integer=True)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(path, dpi=150)


def plot_histories(
    histories: Sequence[np.ndarray], metric: str, title: str, path: Path, best_epochs: Sequence[int] | None = None
) -> None:
    """Plot training loss and validation score over the epochs, one line per split, with a dot at the best epoch.

    Args:
        histories: One array per split, with columns epoch, loss, validation loss, score.
        metric: Name of the score.
        title: Title of the plot.
        path: Output file.
        best_epochs: The epoch of each split whose weights were kept, -1 if none were. Default: the first with the
            highest score.
    """
    figure = new_figure(figsize=(8, 3.7))
    left, right = figure.subplots(1, 2)
    best = [_highest(history[:, 3]) for history in histories] if best_epochs is None else best_epochs
    for axes, column, color in ((left, 1, "#4477aa"), (right, 3, "#aa3377")):
        for history, epoch in zip(histories, best, strict=True):
            marked = [epoch] if epoch >= 0 else []
            axes.plot(history[:, 0], history[:, column], color=color, alpha=0.7, linewidth=0.9)
            axes.plot(history[marked, 0], history[marked, column], "o", color=color, markeredgecolor="black", zorder=3)
    left.set(xlabel="epoch", yscale="log", title="Training loss")
    right.set(xlabel="epoch", title=f"Validation {metric.replace('_', ' ')}")
    dots = "the highest validation score" if best_epochs is None else "the epoch whose weights were kept"
    count = f"{len(histories)} split{'s' * (len(histories) > 1)}"
    figure.suptitle(f"{title}, {count}\n● {dots}")
    figure.savefig(path, dpi=150)


def _highest(scores: np.ndarray) -> int:
    """Index of the first maximum; -1 if all values are NaN."""
    return int(np.nanargmax(scores)) if np.isfinite(scores).any() else -1
