"""EvenNet: a filter on even powers of the propagation matrix alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.methods.decoupled import DecoupledMethod
from unifilter.methods.method import ModelShape
from unifilter.methods.search import DECOUPLED, RATES
from unifilter.nn import EvenNet
from unifilter.training import Patience

# The authors' settings, for 60/20/20 splits.
_PUBLISHED: dict[str, dict[str, Any]] = {
    "cora": {"lr": 0.01, "weight_decay": 5e-4, "dropout": 0.5, "filter_dropout": 0.5},
    "citeseer": {"lr": 0.05, "weight_decay": 5e-4, "dropout": 0.1, "filter_dropout": 0.3},
    "pubmed": {"lr": 0.05, "weight_decay": 5e-4, "dropout": 0.1, "filter_dropout": 0.3},
    "chameleon": {"lr": 0.05, "weight_decay": 0.0, "dropout": 0.5, "filter_dropout": 0.7},
    "squirrel": {"lr": 0.05, "weight_decay": 0.0, "dropout": 0.5, "filter_dropout": 0.7},
    "actor": {"lr": 0.05, "weight_decay": 5e-4, "dropout": 0.3, "filter_dropout": 0.7},
}


@dataclass(frozen=True, kw_only=True)
class EvenNetMethod(DecoupledMethod):
    r"""EvenNet: :math:`\sum_k w_k \mathbf{P}^{2k} \mathrm{MLP}(x)` up to :math:`2k = K`.

    The weights start at :math:`\alpha (1-\alpha)^{2k}`, and unlike those of PageRank do not sum to 1.

    Attributes:
        alpha: Parameter of the initial weights.
        filter_lr: Learning rate of the weights, which have no weight decay.
        patience: Number of epochs without a lower validation loss.
    """

    name: ClassVar[str] = "evennet"
    paper: ClassVar[str] = "Lei et al., EvenNet: Ignoring Odd-Hop Neighbors Improves Robustness of GNNs, 2022"
    cost: ClassVar[str] = "an epoch multiplies the features once and filters the logits: 3K products of class width"
    presets = _PUBLISHED
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **DECOUPLED,
        "alpha": (0.1, 0.2, 0.5, 0.9),
        "filter_lr": RATES,
    }

    alpha: float = 0.1
    filter_lr: float = 0.01
    patience: int = 200

    def network(self, shape: ModelShape) -> EvenNet:
        return EvenNet(**self.sizes(shape), alpha=self.alpha)

    def stop_rule(self) -> Patience:
        return Patience(self.patience, "loss")
