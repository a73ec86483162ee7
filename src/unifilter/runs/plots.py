"""Pictures of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unifilter._internal.figures import new_figure


def plot_weights(weights: np.ndarray, title: str, path: Path) -> None:
    """Learned weights ``[splits, hops + 1]``: their mean over the splits, and one dot for each."""
    figure = new_figure(figsize=(6, 3.4))
    axes = figure.add_subplot()
    hops = np.arange(weights.shape[1])
    axes.axhline(0, color="0.6", linewidth=0.8)
    axes.bar(hops, weights.mean(axis=0), color="#4477aa", width=0.7, label="mean over the splits")
    dots = axes.plot(hops, weights.T, ".", color="#222222", markersize=3)
    dots[0].set_label("one split")
    axes.set(xlabel="hop k", ylabel="learned weight", title=title)
    axes.locator_params(axis="x", integer=True)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def plot_histories(histories: list[np.ndarray], metric: str, title: str, path: Path) -> None:
    """Training loss and validation score over the epochs, one line a split; columns epoch, loss, val loss, score."""
    figure = new_figure(figsize=(8, 3.4))
    left, right = figure.subplots(1, 2)
    for history in histories:
        left.plot(history[:, 0], history[:, 1], color="#4477aa", alpha=0.6, linewidth=0.9)
        right.plot(history[:, 0], history[:, 3], color="#aa3377", alpha=0.6, linewidth=0.9)
    left.set(xlabel="epoch", ylabel="training loss", yscale="log")
    right.set(xlabel="epoch", ylabel=f"validation {metric.replace('_', ' ')}")
    figure.suptitle(title)
    figure.savefig(path, dpi=150)
