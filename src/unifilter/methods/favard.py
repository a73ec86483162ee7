"""FavardGNN: a learned basis for every hidden channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.methods.method import Method, ModelShape
from unifilter.methods.search import DECAYS, DROPOUTS, NETWORK, RATES
from unifilter.nn import FavardGNN

# The authors' settings, for 60/20/20 splits; of Penn94 and Genius for the splits of LINKX. They have none for Cora.
_PUBLISHED: dict[str, dict[str, Any]] = {
    "citeseer": {
        "hops": 8, "lr": 0.001, "filter_lr": 0.001, "basis_lr": 0.001,
        "weight_decay": 1e-6, "filter_weight_decay": 1e-6, "basis_weight_decay": 1e-8,
        "dropout": 0.7, "hidden_dropout": 0.9,
    },
    "pubmed": {
        "hops": 8, "lr": 0.05, "filter_lr": 0.005, "basis_lr": 0.005,
        "weight_decay": 1e-3, "filter_weight_decay": 1e-6, "basis_weight_decay": 1e-6,
        "dropout": 0.0, "hidden_dropout": 0.5,
    },
    "chameleon": {
        "features": "row", "hops": 20, "lr": 0.04, "filter_lr": 0.04, "basis_lr": 0.02,
        "weight_decay": 1e-6, "filter_weight_decay": 1e-5, "basis_weight_decay": 1e-7,
        "dropout": 0.5, "hidden_dropout": 0.5,
    },
    "squirrel": {
        "features": "row", "hops": 20, "lr": 0.05, "filter_lr": 0.04, "basis_lr": 5e-4,
        "weight_decay": 1e-5, "filter_weight_decay": 1e-7, "basis_weight_decay": 1e-6,
        "dropout": 0.5, "hidden_dropout": 0.5,
    },
    "actor": {
        "features": "row", "hops": 16, "lr": 0.05, "filter_lr": 0.05, "basis_lr": 0.05,
        "weight_decay": 1e-5, "filter_weight_decay": 1e-3, "basis_weight_decay": 1e-5,
        "dropout": 0.7, "hidden_dropout": 0.7,
    },
    "penn94": {
        "hops": 20, "lr": 0.03, "filter_lr": 0.05, "basis_lr": 0.05,
        "weight_decay": 1e-5, "filter_weight_decay": 1e-7, "basis_weight_decay": 1e-8,
        "dropout": 0.2, "hidden_dropout": 0.7,
    },
    "genius": {
        "hops": 16, "lr": 0.05, "filter_lr": 0.001, "basis_lr": 0.02,
        "weight_decay": 1e-8, "filter_weight_decay": 1e-8, "basis_weight_decay": 1e-6,
        "dropout": 0.0, "hidden_dropout": 0.2, "metric": "roc_auc",
    },
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class FavardMethod(Method):
    """A learned basis and a learned weight per hop and hidden channel; see :class:`unifilter.nn.favard.FavardGNN`.

    Attributes:
        hops: Number of hops K.
        hidden_channels: Number of hidden channels.
        dropout: On the input and in front of the last layer.
        hidden_dropout: On the hidden channels.
        lr, weight_decay: Of the linear layers.
        filter_lr, filter_weight_decay: Of the weights.
        basis_lr, basis_weight_decay: Of the recurrence that makes the basis.
        patience: Epochs without a better validation score.
    """

    name: ClassVar[str] = "favard"
    paper: ClassVar[str] = "Guo and Wei, Graph Neural Networks with Learnable and Optimal Polynomial Bases, 2023"
    cost: ClassVar[str] = (
        "an epoch is K products of hidden width and their gradients; keeps a few hidden layers per hop"
    )
    presets = _PUBLISHED
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **NETWORK,
        "hops": (2, 4, 8, 12, 16, 20),
        "hidden_dropout": DROPOUTS,
        "filter_lr": RATES,
        "filter_weight_decay": DECAYS,
        "basis_lr": RATES,
        "basis_weight_decay": DECAYS,
    }

    epochs: int = 2000
    hops: int = 10
    hidden_channels: int = 64
    dropout: float = 0.5
    hidden_dropout: float = 0.5
    # About the rates that the authors found for most graphs.
    lr: float = 0.05
    weight_decay: float = 1e-5
    filter_lr: float = 0.05
    filter_weight_decay: float = 1e-5
    basis_lr: float = 0.02
    # A decay would draw the divisors of the recurrence toward zero.
    basis_weight_decay: float = 0.0
    patience: int = 300

    def network(self, shape: ModelShape) -> FavardGNN:
        return FavardGNN(
            shape.in_channels, self.hidden_channels, shape.num_outputs, self.hops, self.dropout, self.hidden_dropout
        )

    def parameter_groups(self, model: FavardGNN) -> list[dict[str, Any]]:
        layers = [*model.input.parameters(), *model.output.parameters()]
        basis = [model.shifts, model.scales]
        return [
            {"params": layers, "lr": self.lr, "weight_decay": self.weight_decay},
            {"params": [model.filter_weights], "lr": self.filter_lr, "weight_decay": self.filter_weight_decay},
            {"params": basis, "lr": self.basis_lr, "weight_decay": self.basis_weight_decay},
        ]
