"""FavardGNN: a learned basis for every hidden channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from unifilter.methods.channel_filter import ChannelFilterMethod
from unifilter.methods.method import ModelShape
from unifilter.methods.search import DECAYS, RATES
from unifilter.nn import FavardGNN
from unifilter.nn.channel_filter import ChannelFilter

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
class FavardMethod(ChannelFilterMethod):
    """A learned basis and a learned weight per hop and hidden channel; see :class:`unifilter.nn.favard.FavardGNN`.

    Attributes:
        basis_lr, basis_weight_decay: Learning rate and weight decay of the recurrence that makes the basis.
    """

    name: ClassVar[str] = "favard"
    presets = _PUBLISHED
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **ChannelFilterMethod.search_space,
        "basis_lr": RATES,
        "basis_weight_decay": DECAYS,
    }

    # About the rates that the authors found for most graphs.
    lr: float = 0.05
    weight_decay: float = 1e-5
    filter_lr: float = 0.05
    filter_weight_decay: float = 1e-5
    basis_lr: float = 0.02
    # A decay would draw the divisors of the recurrence toward zero.
    basis_weight_decay: float = 0.0

    def network(self, shape: ModelShape) -> FavardGNN:
        return FavardGNN(
            shape.in_channels, self.hidden_channels, shape.num_outputs, self.hops, self.dropout, self.hidden_dropout
        )

    def parameter_groups(self, model: ChannelFilter) -> list[dict[str, Any]]:
        basis = [cast(FavardGNN, model).shifts, cast(FavardGNN, model).scales]
        return [
            *super().parameter_groups(model),
            {"params": basis, "lr": self.basis_lr, "weight_decay": self.basis_weight_decay},
        ]
