"""Base of GPR-GNN and its successors: features are transformed first, and then the logits are filtered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unifilter.data import FeatureScaling
from unifilter.methods.method import Method, ModelShape
from unifilter.nn import DecoupledFilter


@dataclass(frozen=True, kw_only=True)
class DecoupledMethod(Method):
    """Settings of every method whose model is a :class:`unifilter.nn.decoupled.DecoupledFilter`.

    Attributes:
        hops: Degree K of the filter.
        hidden_channels: Width of the MLP.
        lr, weight_decay: Learning rate and weight decay of the MLP.
        dropout: Dropout in the MLP.
        filter_dropout: Dropout between MLP and filter, ``dprate`` in the authors' scripts.
    """

    features: FeatureScaling = "row"
    hops: int = 10
    hidden_channels: int = 64
    lr: float = 0.01
    weight_decay: float = 5e-4
    dropout: float = 0.5
    filter_dropout: float = 0.5

    def sizes(self, shape: ModelShape) -> dict[str, Any]:
        """The common arguments of these networks."""
        return {
            "in_channels": shape.in_channels,
            "out_channels": shape.num_outputs,
            "hops": self.hops,
            "hidden_channels": self.hidden_channels,
            "dropout": self.dropout,
            "filter_dropout": self.filter_dropout,
        }

    def parameter_groups(self, model: DecoupledFilter) -> list[dict[str, Any]]:
        # Defaults for the filter: the learning rate of the MLP, and no weight decay.
        filter_lr = getattr(self, "filter_lr", self.lr)
        filter_weight_decay = getattr(self, "filter_weight_decay", 0.0)
        return model.parameter_groups(self.lr, self.weight_decay, filter_lr, filter_weight_decay)
