"""Measurements of each theorem's claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unifilter._internal.figures import new_figure
from unifilter.experiments.engine.cells import Cell
from unifilter.experiments.engine.experiment import SIX_GRAPHS, Experiment, Options, trained
from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.engine.sources import Facts
from unifilter.experiments.paper.figure_squashing import JACOBIAN
from unifilter.experiments.show.pictures import COLORS
from unifilter.experiments.show.presentation import Finding, Presentation
from unifilter.methods import METHODS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Evenly spaced feature columns: enough to test the claims, while a hundred hops of them fit in memory.
_CHANNELS = 64
_TAUS = [0.2, 0.8]
_DEGREES = [0, 15, 30, 45, 60, 75, 89]
# Inner products are sums of thousands of float64 products, so smaller deviations are rounding errors.
_ROUNDING = 1e-6


class Theorems(Experiment):
    """Proposition 2.3 and Theorems 3.1 to 5.3 on the six graphs, a random regular graph and a binary tree."""

    name: ClassVar[str] = "theorems"
    title: ClassVar[str] = "Theorems, measured"
    place: ClassVar[str] = "Sections 2 to 5"
    datasets: ClassVar[tuple[str, ...]] = (*SIX_GRAPHS, "random-regular", "binary-tree")

    def cells(self, dataset: str, facts: Facts, options: Options) -> list[Cell]:
        at = {"dataset": dataset}
        if dataset == "random-regular":
            return [Cell("pivot", dataset, at, settings={"degrees": _DEGREES, "signals": 32})]
        if dataset == "binary-tree":
            return [Cell("jacobian", dataset, at, settings=JACOBIAN)]
        features = METHODS["unifilter"].presets.get(dataset, {}).get("features", "raw")
        common = {"features": features, "channels": _CHANNELS, "hops": 100}
        # The first split of Table 1 is enough for the frequency of the filtered signal.
        first = replace(options, splits=min(options.splits, 1))
        return [
            Cell("basis", dataset, at, settings={**common, "basis_hops": 10}),
            Cell("energy", dataset, at, settings={**common, "taus": _TAUS}),
            *trained("unifilter", dataset, facts, first, "60", at, preset=dataset),
        ]

    def present(self, rows: Sequence[Row]) -> Presentation:
        found: dict[str, dict[str, Row]] = {}
        for row in rows:
            found.setdefault(row["measure"], {})[row["at"]["dataset"]] = row
        findings = [
            *_proposition_23(found),
            *_theorem_31(found),
            *_theorem_41(found),
            *_theorem_42(found),
            *_theorem_43(found),
            *_theorem_52(found),
            *_theorem_53(found),
        ]
        notes = [f"Measured on up to {_CHANNELS} feature columns of each graph, evenly spaced among those not zero."]
        return Presentation(findings=findings, notes=notes, draw=(lambda: _draw(found)) if "train" in found else None)


_Found = dict[str, dict[str, Row]]


def _basis(found: _Found, name: str) -> dict[str, Any]:
    """One outcome of the measurement ``basis``, for each graph that has it."""
    return {dataset: row["outcome"][name] for dataset, row in found.get("basis", {}).items() if name in row["outcome"]}


def _listed(values: dict[str, Any], digits: str = ".3g") -> str:
    return ", ".join(f"{name} {value:{digits}}" for name, value in values.items())


def _proposition_23(found: _Found) -> list[Finding]:
    low, high = _basis(found, "frequency_low"), _basis(found, "frequency_high")
    if not low:
        return []
    inside = all(low[name] >= 0 and high[name] <= 1 for name in low)
    text = f"frequencies of UniBasis from {min(low.values()):.3f} to {max(high.values()):.3f}"
    return [
        Finding(
            "Proposition 2.3: every frequency lies in [0, 1]", _names(low), text, "holds" if inside else "does not hold"
        )
    ]


def _theorem_31(found: _Found) -> list[Finding]:
    claim = "Theorem 3.1: the frequency of the ideal filtered signal is proportional to 1 - h"
    findings = []
    labels, expected = _basis(found, "label_frequency"), _basis(found, "label_frequency_expected")
    if labels:
        worst = max(abs(labels[name] - expected[name]) for name in labels)
        findings.append(
            Finding(
                f"{claim}; taken for the indicators of the classes, all together",
                _names(labels),
                f"(1 - h) / 2 to within {worst:.1e}: an identity of the definition, for signals D^(1/2) y",
                "holds" if worst < 1e-3 else "does not hold",
            )
        )
        low, high = _basis(found, "class_frequency_low"), _basis(found, "class_frequency_high")
        spread = {name: f"{low[name]:.2f} to {high[name]:.2f}" for name in low}
        findings.append(
            Finding(
                f"{claim}; taken for each class on its own",
                _names(labels),
                f"classes of one graph range over {', '.join(f'{k} {v}' for k, v in spread.items())}",
                "does not hold" if any(high[name] - low[name] > 0.05 for name in low) else "holds",
            )
        )
    filtered = {name: row["outcome"]["filtered_frequency"] for name, row in found.get("train", {}).items()}
    heterophily = {name: 1 - value for name, value in _basis(found, "homophily").items() if name in filtered}
    if len(heterophily) >= 3:
        ratios = {name: filtered[name] / heterophily[name] for name in heterophily}
        correlation = float(np.corrcoef(list(heterophily.values()), [filtered[n] for n in heterophily])[0, 1])
        steady = max(ratios.values()) < 1.5 * min(ratios.values())
        findings.append(
            Finding(
                f"{claim}; taken for what the trained UniFilter lets through",
                _names(heterophily),
                f"correlation with 1 - h {correlation:+.2f}; frequency / (1 - h): {_listed(ratios)}",
                "holds" if steady else "holds in part" if correlation > 0.7 else "does not hold",
            )
        )
    return findings


def _theorem_41(found: _Found) -> list[Finding]:
    last, share, falls = (_basis(found, name) for name in ("angle_last", "converged_share", "monotone_share"))
    if not last:
        return []
    text = (
        f"mean angle after 100 hops in degrees: {_listed(last)}; share of features below one degree: "
        f"{_listed(share, '.0%')}; share whose angle falls from hop 50 on: {_listed(falls, '.0%')}"
    )
    whole = min(share.values()) == 1 and min(falls.values()) == 1
    return [
        Finding(
            "Theorem 4.1: the angle between P^k x and P^(k+1) x falls from some hop on, and tends to 0",
            f"{_names(last)}; the proof needs a connected graph that is not bipartite",
            text,
            "holds" if whole else "holds in part",
        )
    ]


def _theorem_42(found: _Found) -> list[Finding]:
    findings = []
    for dataset, row in found.get("pivot", {}).items():
        outcome = row["outcome"]
        rises = bool(np.all(np.diff(outcome["measured"]) > 0))
        error = max(abs(a - b) for a, b in zip(outcome["measured"], outcome["expected"], strict=True))
        printed = max(abs(a - b) for a, b in zip(outcome["measured"], outcome["printed"], strict=True))
        findings.append(
            Finding(
                "Theorem 4.2: on regular graphs the expected frequency grows with the angle from the constant signal",
                dataset,
                f"it does: {', '.join(f'{value:.3f}' for value in outcome['measured'])} for angles of "
                f"{', '.join(map(str, row['settings']['degrees']))} degrees, within {error:.3f} of n sin²θ / 2(n - 1); "
                f"the formula at the end of the printed proof is off by up to {printed:.2f}",
                "holds" if rises else "does not hold",
            )
        )
    return findings


def _theorem_43(found: _Found) -> list[Finding]:
    claim = "Theorem 4.3: all pairs of the heterophily basis meet at the angle (1 - h) π / 2"
    paper, released = _basis(found, "angle_error"), _basis(found, "angle_error_released")
    exhausted = _basis(found, "angle_error_exhausted")
    findings = []
    if paper:
        findings.append(
            Finding(
                f"{claim}; the paper's algorithm, features that span enough dimensions",
                _names(paper),
                f"largest error of an inner product: {_listed(paper, '.1e')}",
                "holds" if max(paper.values()) < _ROUNDING else "does not hold",
            )
        )
    if exhausted:
        share = _basis(found, "exhausted_share")
        findings.append(
            Finding(
                f"{claim}; features whose space is exhausted before the last hop",
                _names(exhausted),
                f"largest error: {_listed(exhausted, '.2g')}; share of such features: "
                f"{_listed({name: share[name] for name in exhausted}, '.0%')}",
                "holds" if max(exhausted.values()) < _ROUNDING else "does not hold",
            )
        )
    if released:
        findings.append(
            Finding(
                f"{claim}; the published code with tau = 0.5",
                _names(released),
                f"largest error: {_listed(released, '.2g')}",
                "holds" if max(released.values()) < _ROUNDING else "does not hold",
            )
        )
    return findings


def _theorem_52(found: _Found) -> list[Finding]:
    findings = []
    for place, tau in enumerate(_TAUS):
        ratios = {
            dataset: float(np.mean(row["outcome"]["energies"][place][-10:])) / row["outcome"]["start"]
            for dataset, row in found.get("energy", {}).items()
        }
        if ratios:
            close = all(abs(ratio - (1 - tau)) < 0.05 * (1 - tau) for ratio in ratios.values())
            findings.append(
                Finding(
                    f"Theorem 5.2: the energy tends to (1 - tau) E(X), here {1 - tau:.1f} E(X) for tau = {tau}",
                    _names(ratios),
                    f"E(X^k) / E(X) over the last ten of 100 hops: {_listed(ratios)} (it stays above 0)",
                    "holds" if close else "does not hold",
                )
            )
    return findings


def _theorem_53(found: _Found) -> list[Finding]:
    findings = []
    for dataset, row in found.get("jacobian", {}).items():
        for tau, values in zip(row["settings"]["taus"], row["outcome"]["means"], strict=True):
            if tau == 1:
                continue  # the homophily basis alone, which the theorem does not cover
            fall = values[0] / values[-1]
            hops = row["settings"]["hops"]
            findings.append(
                Finding(
                    f"Theorem 5.3: |∂z_u/∂x_v| at distance k does not depend on k, here for tau = {tau:g}",
                    dataset,
                    f"from {values[0]:.2g} at k = {hops[0]} to {values[-1]:.2g} at k = {hops[-1]}, "
                    f"a factor of {fall:.3g}",
                    "holds" if 0.8 < fall < 1.25 else "does not hold",
                )
            )
    return findings


def _names(values: dict[str, Any]) -> str:
    return ", ".join(values)


def _draw(found: _Found) -> Figure:
    """Plot for Theorem 3.1: frequency of the filtered signal over 1 - h."""
    figure = new_figure(figsize=(6.4, 4.2))
    axes = figure.add_subplot()
    heterophily = {name: 1 - value for name, value in _basis(found, "homophily").items()}
    points = [
        (heterophily[name], row["outcome"]["filtered_frequency"], name)
        for name, row in found["train"].items()
        if name in heterophily
    ]
    axes.plot([0, 1], [0, 0.5], color="0.4", ls="--", lw=1, label="(1 - h) / 2, the indicators of the classes")
    # Markers and colors instead of names, which would overlap where graphs have the same homophily.
    for (x, y, name), mark, color in zip(points, cycle("os^Dvp"), cycle(COLORS)):
        axes.plot(x, y, mark, color=color, label=f"{name}, trained UniFilter, mean over features")
    axes.set(xlabel="1 - h", ylabel="frequency of the filtered signal", xlim=(0, 1), ylim=(0, 0.6))
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    axes.grid(color="0.92")
    return figure
