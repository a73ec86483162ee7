"""BernNet: non-negative weights on Bernstein polynomials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.methods.decoupled import DecoupledMethod
from unifilter.methods.method import ModelShape
from unifilter.methods.search import DECOUPLED, RATES
from unifilter.nn import BernNet
from unifilter.training import LossWindow

# The authors' settings, for 60/20/20 splits.
_PUBLISHED: dict[str, dict[str, Any]] = {
    "cora": {"lr": 0.01, "weight_decay": 5e-4, "filter_lr": 0.01, "filter_dropout": 0.0},
    "citeseer": {"lr": 0.01, "weight_decay": 5e-4, "filter_lr": 0.01, "filter_dropout": 0.5},
    "pubmed": {"lr": 0.01, "weight_decay": 0.0, "filter_lr": 0.01, "filter_dropout": 0.0},
    "chameleon": {"lr": 0.05, "weight_decay": 0.0, "filter_lr": 0.01, "filter_dropout": 0.7},
    "squirrel": {"lr": 0.05, "weight_decay": 0.0, "filter_lr": 0.01, "filter_dropout": 0.6},
    "actor": {"lr": 0.05, "weight_decay": 0.0, "filter_lr": 0.01, "filter_dropout": 0.9},
}


@dataclass(frozen=True, kw_only=True)
class BernNetMethod(DecoupledMethod):
    r"""BernNet: weights :math:`\mathrm{ReLU}(\theta_k)` on Bernstein polynomials; starts as the identity.

    Written out, the filter takes :math:`K(K+3)/2` products with the graph; here it takes K, in Chebyshev polynomials. A
    weight that falls below zero stops learning, here as in the authors' code.

    Attributes:
        filter_lr: Learning rate of the weights, which have no weight decay.
        window: Epochs before training may stop.
    """

    name: ClassVar[str] = "bernnet"
    paper: ClassVar[str] = "He et al., BernNet: Learning Arbitrary Graph Spectral Filters via Bernstein Approx., 2021"
    cost: ClassVar[str] = "an epoch multiplies the features once and filters the logits: 3K products of class width"
    presets = _PUBLISHED
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {**DECOUPLED, "filter_lr": RATES}

    filter_lr: float = 0.01
    window: int = 200

    def network(self, shape: ModelShape) -> BernNet:
        return BernNet(**self.sizes(shape))

    def stop_rule(self) -> LossWindow:
        return LossWindow(self.window)
