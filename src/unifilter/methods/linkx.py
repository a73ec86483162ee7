"""LINKX: features and the rows of the adjacency, each through an MLP, then both through another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from unifilter.methods.method import Method, ModelShape
from unifilter.nn import LINKX
from unifilter.training import Patience

# From 16 trials of `unifilter tune` on the validation nodes of the first mask, in the space of the grid and at most
# 500 epochs each on Texas, 300 on the others.
_TUNED: dict[str, dict[str, Any]] = {
    "chameleon/48": {"hidden_channels": 128, "num_layers": 2, "num_edge_layers": 2, "lr": 0.002},
    "texas/48": {"num_layers": 3, "lr": 0.05},
}


@dataclass(frozen=True, kw_only=True)
class LINKXMethod(Method):
    """LINKX; see :class:`unifilter.nn.LINKX`.

    The authors publish what they searched, which is :attr:`search_space`, but not what they found: there are no
    published settings of any graph. It has a weight for every node, so a trained model is for the nodes of its graph.

    Attributes:
        hidden_channels, num_layers, num_edge_layers, num_node_layers: Arguments of the network.
        dropout: Dropout between the last ``num_layers`` layers, so none where it is 1.
        patience: Number of epochs without a better validation score; the authors train to the end and keep the best.
    """

    name: ClassVar[str] = "linkx"
    paper: ClassVar[str] = "Lim et al., Large Scale Learning on Non-Homophilous Graphs, 2021"
    cost: ClassVar[str] = "an epoch is one product of hidden width and its gradient, and a few dense layers"
    needs: ClassVar[str] = "the nodes it was trained on"
    tuned = _TUNED
    # Their grid for small graphs, 384 points.
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        "hidden_channels": (64, 128, 256, 512),
        "num_layers": (1, 2, 3, 4),
        "num_edge_layers": (1, 2),
        "num_node_layers": (1, 2),
        "lr": (0.002, 0.01, 0.05),
        "dropout": (0.0, 0.5),
    }

    epochs: int = 500
    optimizer: Literal["adam", "adamw"] = "adamw"
    hidden_channels: int = 64
    num_layers: int = 1
    num_edge_layers: int = 1
    num_node_layers: int = 1
    dropout: float = 0.5
    lr: float = 0.01
    weight_decay: float = 1e-3
    patience: int = 500

    @property
    def transductive(self) -> bool:
        return True

    def network(self, shape: ModelShape) -> LINKX:
        return LINKX(
            shape.facts["num_nodes"],
            shape.in_channels,
            self.hidden_channels,
            shape.num_outputs,
            self.num_layers,
            self.num_edge_layers,
            self.num_node_layers,
            self.dropout,
        )

    def stop_rule(self) -> Patience:
        return Patience(self.patience)
