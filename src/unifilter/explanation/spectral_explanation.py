"""The explanation of a graph: numbers, a verdict in words, plots and a page."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.checks import check_fraction
from unifilter.bases import Tridiagonal
from unifilter.explanation.curves import GRID, Curves, compute_curves, response_axis
from unifilter.explanation.label_report import LabelReport
from unifilter.explanation.mixtures import MemberFilter
from unifilter.explanation.verdict import verdict
from unifilter.factorization.energy import EnergyShare, energy_share
from unifilter.factorization.typical import with_signal

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class SpectralExplanation:
    """A graph's signals, labels and filter in the spectral domain. Created by :func:`unifilter.explain`.

    Attributes:
        name: Title of the explanation.
        nodes, edges: Size of the graph; ``None`` if unknown.
        tau, homophily: Parameters of the universal basis.
        homophily_from: Where the homophily comes from, in words.
        tridiagonal: Tridiagonal of the features, all channels.
        weights: Weights of the filter ``[splits, hops + 1, 1]``, or ``[splits, hops + 1, channels]`` for separate
            weights per channel; ``None`` without a trained filter. The response is then that of equal weights.
        labels: Statistics of the labels; ``None`` without labels or with a single class.
        response: Quartiles over channels ``[3, eigenvalues]`` of a learned filter that is not on the universal basis.
            It does not depend on tau and homophily.
        remarks: Sentences to show before the verdict, such as that a model has learned nothing.
        members: Of a portfolio, every member with its weight and its filter; the response is then their mean.

    Example:
        >>> from unifilter import factorize
        >>> from unifilter.datasets import load_dataset
        >>> from unifilter.explanation import explain
        >>> karate = load_dataset("karate")
        >>> fact = factorize(karate.graph, karate.features, hops=4)
        >>> explanation = explain(fact, graph=karate.graph, labels=karate.labels, tau=0.5)
        >>> print(explanation.verdict[0])
        Labels sit at low frequencies (frequency 0.19, where 0.50 is chance): homophilous.
        >>> explanation.at(tau=1.0).curves.frequency.shape
        (5,)
    """

    name: str
    nodes: int | None
    edges: int | None
    tau: float
    homophily: float
    homophily_from: str
    tridiagonal: Tridiagonal
    weights: Tensor | None = None
    labels: LabelReport | None = field(default=None)
    response: np.ndarray | None = None
    remarks: tuple[str, ...] = ()
    members: tuple[MemberFilter, ...] = ()

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}, hops={self.hops}, channels={self.channels}, tau={self.tau:g}, "
            f"homophily={self.homophily:g})"
        )

    def __str__(self) -> str:
        return "\n".join((f"{self.name}: tau {self.tau:g}, homophily {self.homophily:.4g}", *self.verdict))

    @property
    def hops(self) -> int:
        return self.tridiagonal.hops

    @property
    def channels(self) -> int:
        return self.tridiagonal.channels

    def at(self, tau: float | None = None, homophily: float | None = None) -> SpectralExplanation:
        """The explanation with another tau or homophily, as with the sliders of the page."""
        return replace(
            self,
            tau=self.tau if tau is None else check_fraction("tau", tau),
            homophily=self.homophily if homophily is None else check_fraction("homophily", homophily),
            homophily_from=self.homophily_from if homophily is None else "given",
        )

    @cached_property
    def curves(self) -> Curves:
        """Frequencies, angles and response at this tau and homophily."""
        curves = compute_curves(self._signals, self.tau, self.homophily, self.filter_weights)
        if self.response is None:
            return curves
        low, middle, high = self.response
        return replace(curves, response=middle, response_low=low, response_high=high)

    @cached_property
    def feature_energy(self) -> EnergyShare:
        """Distribution of the energy of the features."""
        return energy_share(self._signals)

    @property
    def response_axis(self) -> tuple[float, float]:
        """Range of the gain axis; see :func:`unifilter.explanation.curves.response_axis`."""
        return response_axis(self.curves, self.feature_energy.span)

    @cached_property
    def filter_weights(self) -> Tensor:
        """Weights of the response: mean over the splits, for the channels with a signal, float64."""
        if self.weights is None:
            return torch.full((self.hops + 1, 1), 1 / (self.hops + 1), dtype=torch.float64)
        mean = self.weights.double().mean(dim=0)
        return mean if mean.shape[1] == 1 else mean[:, with_signal(self.tridiagonal)[1]]

    @property
    def weight(self) -> np.ndarray | None:
        """Learned weight of each hop: mean over the splits, and over channels with separate weights."""
        return None if self.weights is None else self.weights.double().mean(dim=(0, 2)).numpy()

    @property
    def weight_spread(self) -> np.ndarray | None:
        """Standard deviation of the weights over splits; zero for one split."""
        return None if self.weights is None else self.weights.double().mean(dim=2).std(dim=0, correction=0).numpy()

    @property
    def broken_down(self) -> list[int]:
        """Nonzero channels that span fewer than ``hops + 1`` dimensions."""
        dimension = self.tridiagonal.dimension
        found: list[int] = ((dimension > 0) & (dimension <= self.hops)).nonzero().flatten().tolist()
        return found

    @property
    def zero_columns(self) -> list[int]:
        """Channels with a zero signal."""
        found: list[int] = (self.tridiagonal.dimension == 0).nonzero().flatten().tolist()
        return found

    @cached_property
    def verdict(self) -> tuple[str, ...]:
        """The interpretation of the numbers, in sentences."""
        return self.remarks + verdict(
            self.labels,
            self.curves.frequency,
            self.weight,
            self.weight_spread,
            len(self.broken_down),
            len(self.zero_columns),
            self.channels,
        )

    def plot(self) -> Figure:
        """Plot the learned weights at their frequencies, as in the paper, with panels that explain them."""
        from unifilter.explanation.drawing import draw_explanation

        return draw_explanation(self)

    def to_html(self) -> str:
        """Render one page with sliders for tau and homophily that needs no server and no network."""
        from unifilter.explanation.render import render_page

        return render_page(self)

    def to_json(self) -> str:
        """Every number of the explanation as JSON, without the tridiagonals."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False)

    def to_dict(self) -> dict[str, Any]:
        """Every number of the explanation as plain values; ``None`` if undefined."""
        weight, weight_spread = self.weight, self.weight_spread
        dimension = self.tridiagonal.dimension
        return {
            "name": self.name,
            "nodes": self.nodes,
            "edges": self.edges,
            "channels": self.channels,
            "hops": self.hops,
            "tau": self.tau,
            "homophily": self.homophily,
            "homophily_from": self.homophily_from,
            "verdict": list(self.verdict),
            "frequency": _listed(self.curves.frequency),
            "frequency_spread": _listed(self.curves.frequency_spread),
            "angles": _listed(self.curves.angles),
            "weight": None if weight is None else _listed(weight),
            "weight_spread": None if weight_spread is None else _listed(weight_spread),
            "splits": 0 if self.weights is None else len(self.weights),
            "lam": _listed(GRID),
            "response_is_learned": self.response is not None,
            "response": _listed(self.curves.response),
            "response_low": _listed(self.curves.response_low),
            "response_high": _listed(self.curves.response_high),
            "feature_energy": _energy_dict(self.feature_energy),
            "labels": None if self.labels is None else _labels_dict(self.labels),
            "members": [member.to_dict() for member in self.members],
            "krylov": {
                "dimension": {int(size): int((dimension == size).sum()) for size in np.unique(dimension.cpu().numpy())},
                "broken_down": self.broken_down,
                "zero_columns": self.zero_columns,
            },
        }

    @cached_property
    def _signals(self) -> Tridiagonal:
        return with_signal(self.tridiagonal)[0]


def _listed(values: np.ndarray) -> list[Any]:
    listed: list[Any] = values.tolist()
    return listed


def _energy_dict(energy: EnergyShare) -> dict[str, Any]:
    return {
        "share": _listed(energy.share),
        "low": _listed(energy.low),
        "high": _listed(energy.high),
        "frequency": float(energy.frequency.mean()),
        "span": list(energy.span),
    }


def _labels_dict(labels: LabelReport) -> dict[str, Any]:
    return {
        "homophily": {
            "edge": labels.edge,
            "node": labels.node,
            "class": labels.class_,
            "adjusted": labels.adjusted,
        },
        "classes": [vars(one) for one in labels.classes],
        "energy": _energy_dict(labels.energy),
        "frequency": labels.frequency,
    }
