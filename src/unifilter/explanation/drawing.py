"""Plots of an explanation: the paper's spectrum figure, and panels that explain it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unifilter._internal.figures import new_figure
from unifilter.explanation.curves import GRID

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unifilter.explanation.spectral_explanation import SpectralExplanation

# Okabe and Ito's color-blind-safe palette.
_BLUE, _ORANGE, _GREEN = "#0072B2", "#D55E00", "#009E73"


def draw_explanation(explanation: SpectralExplanation) -> Figure:
    """Four panels: weights over frequency, frequency over hops, filter response, and distribution of energy."""
    figure = new_figure(figsize=(11, 7.6))
    panels = figure.subplots(2, 2)
    _draw_weights(panels[0, 0], explanation)
    _draw_frequencies(panels[0, 1], explanation)
    _draw_response(panels[1, 0], explanation)
    _draw_energy(panels[1, 1], explanation)
    figure.suptitle(f"{explanation.name}: τ = {explanation.tau:.3g}, h = {explanation.homophily:.3g}")
    return figure


def _draw_weights(axes: Any, explanation: SpectralExplanation) -> None:
    """Figure 2 of the paper: a bar for each hop at the mean frequency of its basis vector."""
    frequency = explanation.curves.frequency
    axes.set(xlabel="frequency f of the basis vector (0 smooth, 1 alternating)")
    if explanation.weight is None:
        trained = explanation.response is not None
        axes.set_title(f"{'The filter is on another basis' if trained else 'Nothing was trained'}: frequencies alone")
        axes.plot(frequency, np.zeros_like(frequency), "|", color=_BLUE, markersize=22, markeredgewidth=2)
        axes.set_yticks([])
        return
    axes.set(title="Learned weights at their frequencies", ylabel="learned weight w")
    axes.axhline(0, color="0.5", linewidth=0.8, linestyle="--")
    width = max(float(np.ptp(frequency)), 0.05) / 45
    axes.bar(frequency, explanation.weight, yerr=explanation.weight_spread, width=width, color=_BLUE, alpha=0.85)
    axes.margins(x=0.05)


def _draw_frequencies(axes: Any, explanation: SpectralExplanation) -> None:
    curves = explanation.curves
    hops = np.arange(len(curves.frequency))
    low, high = (np.clip(curves.frequency + sign * curves.frequency_spread, 0, 1) for sign in (-1, 1))
    axes.fill_between(hops, low, high, color=_GREEN, alpha=0.2, linewidth=0, label="± one standard deviation")
    axes.plot(hops, curves.frequency, "o-", color=_GREEN, label="mean over channels")
    axes.set(xlabel="hop k", ylabel="frequency f", ylim=(0, 1), title="Basis spectrum")
    axes.legend(frameon=False)


def _draw_response(axes: Any, explanation: SpectralExplanation) -> None:
    curves = explanation.curves
    axes.axhline(0, color="0.5", linewidth=0.8, linestyle="--")
    axes.fill_between(
        GRID, curves.response_low, curves.response_high, color=_BLUE, alpha=0.2, linewidth=0, label="quartiles"
    )
    axes.plot(GRID, curves.response, color=_BLUE, label="median over channels")
    # Where the features have no energy the curve has no meaning, and may leave the axis.
    outside = {"color": "0.5", "alpha": 0.15, "linewidth": 0}
    first, last = explanation.feature_energy.span
    axes.axvspan(0, first, **outside)
    axes.axvspan(last, 2, label="at most 1 % of the energy at each end", **outside)
    trained = explanation.weight is not None or explanation.response is not None
    axes.set(
        xlabel="Laplacian eigenvalue λ",
        ylabel="gain",
        xlim=(0, 2),
        ylim=explanation.response_axis,
        title="Filter response" if trained else "Filter response of equal weights",
    )
    # Semi-transparent, because the legend can overlap the curves.
    axes.legend(edgecolor="none", framealpha=0.85)


def _draw_energy(axes: Any, explanation: SpectralExplanation) -> None:
    shown = {"features": (explanation.feature_energy, _BLUE, "-")}
    if explanation.labels is not None:
        shown["labels"] = (explanation.labels.energy, _ORANGE, "--")
    for name, (energy, color, style) in shown.items():
        axes.fill_between(GRID, energy.low, energy.high, color=color, alpha=0.18, linewidth=0, label=f"{name}: bounds")
        axes.plot(GRID, energy.share, color=color, linestyle=style, label=name)
    axes.set(
        xlabel="Laplacian eigenvalue λ",
        ylabel="share of energy at or below λ",
        xlim=(0, 2),
        ylim=(0, 1.02),
        title="Spectral density, cumulative",
    )
    axes.legend(frameon=False, loc="lower right")
