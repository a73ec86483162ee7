"""Graph attention networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.data import FeatureScaling
from unifilter.methods.masks import Presets, for_masks
from unifilter.methods.method import Method, ModelShape
from unifilter.methods.search import DROPOUTS, NETWORK
from unifilter.nn import GAT
from unifilter.training import Patience

# On the masks: the scripts of Yan et al., Two Sides of the Same Coin, 2022, whose figures are quoted widely. They run
# on directed graphs of Chameleon, Squirrel and Actor. On Pubmed, Squirrel and Actor they have another attention, whose
# weights have the opposite sign and are dropped before they are normalized; here it is the paper's everywhere.
_ON_MASKS = for_masks(
    {
        name: {"weight_decay": 5e-4 if name in ("cora", "citeseer") else 5e-5}
        for name in ("cora", "citeseer", "pubmed", "chameleon", "squirrel", "actor")
    },
    {"epochs": 1500, "output_elu": True},
    directed=True,
)


@dataclass(frozen=True, kw_only=True)
class GATMethod(Method):
    """Attention to neighbors; see :class:`unifilter.nn.gat.GAT`.

    The defaults are the paper's for Cora and Citeseer. Its rule of early stopping counts a better loss or a better
    score; here it is the loss alone.

    Attributes:
        hidden_channels: Width of each head.
        num_layers, heads, output_heads, output_elu: Arguments of the network.
        dropout, attention_dropout: Dropout on the input of every layer, and on the attention weights.
        patience: Number of epochs without a lower validation loss.
    """

    name: ClassVar[str] = "gat"
    paper: ClassVar[str] = "Velickovic et al., Graph Attention Networks, 2018"
    cost: ClassVar[str] = "an epoch is a softmax over the edges and a product for every head, and their gradients"
    presets: ClassVar[Presets] = _ON_MASKS
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **NETWORK,
        "hidden_channels": (4, 8, 16, 32),
        "heads": (2, 4, 8),
        "attention_dropout": DROPOUTS,
    }

    features: FeatureScaling = "row"
    hidden_channels: int = 8
    num_layers: int = 2
    heads: int = 8
    output_heads: int = 1
    dropout: float = 0.6
    attention_dropout: float = 0.6
    output_elu: bool = False
    lr: float = 0.005
    weight_decay: float = 5e-4
    patience: int = 100

    def network(self, shape: ModelShape) -> GAT:
        return GAT(
            shape.in_channels,
            self.hidden_channels,
            shape.num_outputs,
            self.num_layers,
            self.heads,
            self.output_heads,
            self.dropout,
            self.attention_dropout,
            self.output_elu,
        )

    def stop_rule(self) -> Patience:
        return Patience(self.patience, monitor="loss")
