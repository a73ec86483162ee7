"""The explanation of a graph: numbers, a verdict in words, pictures and a page."""

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
from unifilter.explanation.verdict import verdict
from unifilter.factorization.energy import EnergyShare, energy_share
from unifilter.factorization.typical import with_signal

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class SpectralExplanation:
    """What a graph's signals, labels and filter look like in the spectral domain; made by :func:`unifilter.explain`.

    Attributes:
        name: What is explained.
        nodes, edges: Of the graph, ``None`` where it was not given.
        tau, homophily: Of the universal basis.
        homophily_from: Where the homophily comes from, in words.
        tridiagonal: The features' tridiagonal, all channels.
        weights: The filter's weights ``[splits, hops + 1, 1]``, or ``[splits, hops + 1, channels]`` where every channel
            has its own; ``None`` where nothing was trained. The response is then that of equal weights.
        labels: What the labels say, ``None`` without labels or with one class.
        response: Quartiles over channels ``[3, eigenvalues]`` of a learned filter that is not on the universal basis;
            tau and homophily do not change it.
        remarks: Sentences that come before the verdict, such as that a model has learned nothing.

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
        """The same with another tau or homophily: what the sliders of the page do."""
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
        """Where the energy of the features lies."""
        return energy_share(self._signals)

    @property
    def response_axis(self) -> tuple[float, float]:
        """The gains that charts of the response show; see :func:`unifilter.explanation.curves.response_axis`."""
        return response_axis(self.curves, self.feature_energy.span)

    @cached_property
    def filter_weights(self) -> Tensor:
        """The weights of the response: mean over the splits, of the channels with a signal, float64."""
        if self.weights is None:
            return torch.full((self.hops + 1, 1), 1 / (self.hops + 1), dtype=torch.float64)
        mean = self.weights.double().mean(dim=0)
        return mean if mean.shape[1] == 1 else mean[:, with_signal(self.tridiagonal)[1]]

    @property
    def weight(self) -> np.ndarray | None:
        """Learned weight of each hop: mean over splits, and over channels where each has its own."""
        return None if self.weights is None else self.weights.double().mean(dim=(0, 2)).numpy()

    @property
    def weight_spread(self) -> np.ndarray | None:
        """Its standard deviation over splits; zero for one split."""
        return None if self.weights is None else self.weights.double().mean(dim=2).std(dim=0, correction=0).numpy()

    @property
    def broken_down(self) -> list[int]:
        """Channels that span fewer than ``hops + 1`` dimensions and are not zero."""
        dimension = self.tridiagonal.dimension
        found: list[int] = ((dimension > 0) & (dimension <= self.hops)).nonzero().flatten().tolist()
        return found

    @property
    def zero_columns(self) -> list[int]:
        """Channels without a signal."""
        found: list[int] = (self.tridiagonal.dimension == 0).nonzero().flatten().tolist()
        return found

    @cached_property
    def verdict(self) -> tuple[str, ...]:
        """What the numbers mean, in sentences."""
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
        """A matplotlib figure: the learned weights at their frequencies, as in the paper, and what explains them."""
        from unifilter.explanation.drawing import draw_explanation

        return draw_explanation(self)

    def to_html(self) -> str:
        """One page with sliders for tau and homophily: no server, no network."""
        from unifilter.explanation.render import render_page

        return render_page(self)

    def to_json(self) -> str:
        """Every number of the explanation, without the tridiagonals."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values; ``None`` where a measure is not defined."""
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
