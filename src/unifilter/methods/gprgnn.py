"""GPR-GNN: free weights on the powers of the propagation matrix, which start as those of personalized PageRank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.methods.decoupled import DecoupledMethod
from unifilter.methods.method import ModelShape
from unifilter.methods.search import DECOUPLED
from unifilter.nn import GPRGNN
from unifilter.training import LossWindow

# The authors' settings. Those of Cora, Citeseer and Pubmed were tuned on sparse splits, 2.5 % of the nodes for training
# and 2.5 % for validation; the others on 60/20/20.
_PUBLISHED: dict[str, dict[str, Any]] = {
    "cora": {"lr": 0.01, "alpha": 0.1, "weight_decay": 5e-4, "filter_dropout": 0.5},
    "citeseer": {"lr": 0.01, "alpha": 0.1, "weight_decay": 5e-4, "filter_dropout": 0.5},
    "pubmed": {"lr": 0.05, "alpha": 0.2, "weight_decay": 5e-4, "filter_dropout": 0.5},
    "chameleon": {"lr": 0.05, "alpha": 1.0, "weight_decay": 0.0, "filter_dropout": 0.7},
    "squirrel": {"lr": 0.05, "alpha": 0.0, "weight_decay": 0.0, "filter_dropout": 0.7},
    "actor": {"lr": 0.01, "alpha": 0.9, "weight_decay": 0.0, "filter_dropout": 0.5},
}


@dataclass(frozen=True, kw_only=True)
class GPRGNNMethod(DecoupledMethod):
    r"""GPR-GNN: :math:`\sum_k \gamma_k \tilde{\mathbf{P}}^k \mathrm{MLP}(x)`, on the graph with self-loops.

    Attributes:
        alpha: Restart probability of the PageRank that the weights start from; 1 starts with the identity, 0 with
            :math:`\tilde{\mathbf{P}}^K`.
        window: Epochs before training may stop.
    """

    name: ClassVar[str] = "gprgnn"
    paper: ClassVar[str] = "Chien et al., Adaptive Universal Generalized PageRank Graph Neural Network, 2021"
    cost: ClassVar[str] = "an epoch multiplies the features once and filters the logits: 3K products of class width"
    presets = _PUBLISHED
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {**DECOUPLED, "alpha": (0.0, 0.1, 0.2, 0.5, 0.9, 1.0)}

    alpha: float = 0.1
    window: int = 200

    def network(self, shape: ModelShape) -> GPRGNN:
        return GPRGNN(**self.sizes(shape), alpha=self.alpha)

    def stop_rule(self) -> LossWindow:
        return LossWindow(self.window)
