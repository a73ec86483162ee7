"""Base of the methods OptBasisGNN and FavardGNN: a linear layer, a filter per hidden channel, a linear layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.methods.method import Method
from unifilter.methods.search import DECAYS, DROPOUTS, NETWORK, RATES
from unifilter.nn.channel_filter import ChannelFilter


@dataclass(frozen=True, kw_only=True)
class ChannelFilterMethod(Method):
    """A learned weight per hop and hidden channel; a subclass defines the basis.

    Attributes:
        hops: Number of hops K.
        hidden_channels: Number of hidden channels.
        dropout: Dropout on the input and before the last layer.
        hidden_dropout: Dropout on the hidden channels.
        lr, weight_decay: Learning rate and weight decay of the linear layers.
        filter_lr, filter_weight_decay: Learning rate and weight decay of the weights.
        patience: Number of epochs without a better validation score.
    """

    paper: ClassVar[str] = "Guo and Wei, Graph Neural Networks with Learnable and Optimal Polynomial Bases, 2023"
    cost: ClassVar[str] = (
        "an epoch is K products of hidden width and their gradients; keeps a few hidden layers per hop"
    )
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **NETWORK,
        "hops": (2, 4, 8, 12, 16, 20),
        "hidden_dropout": DROPOUTS,
        "filter_lr": RATES,
        "filter_weight_decay": DECAYS,
    }

    epochs: int = 2000
    hops: int = 10
    hidden_channels: int = 64
    dropout: float = 0.5
    hidden_dropout: float = 0.5
    lr: float = 0.01
    weight_decay: float = 5e-4
    filter_lr: float = 0.01
    filter_weight_decay: float = 5e-4
    patience: int = 300

    def parameter_groups(self, model: ChannelFilter) -> list[dict[str, Any]]:
        layers = [*model.input.parameters(), *model.output.parameters()]
        return [
            {"params": layers, "lr": self.lr, "weight_decay": self.weight_decay},
            {"params": [model.filter_weights], "lr": self.filter_lr, "weight_decay": self.filter_weight_decay},
        ]
