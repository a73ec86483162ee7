"""GraphSAGE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.data import FeatureScaling
from unifilter.methods.method import Method, ModelShape
from unifilter.methods.search import DROPOUTS
from unifilter.nn import GraphSAGE
from unifilter.training import LossWindow


@dataclass(frozen=True, kw_only=True)
class GraphSAGEMethod(Method):
    """A node and the mean of its neighbors side by side; see :class:`unifilter.nn.graphsage.GraphSAGE`.

    There are no published settings for the graphs of this package. The width is that of Zhu et al., Beyond Homophily in
    Graph Neural Networks, 2020, who train it by gradient descent on samples of nodes; what is searched is as in Luan et
    al., Revisiting Heterophily For Graph Neural Networks, 2022.

    Attributes:
        hidden_channels, num_layers, dropout: Arguments of the network.
        window: Number of epochs of :class:`unifilter.training.LossWindow`.
    """

    name: ClassVar[str] = "graphsage"
    paper: ClassVar[str] = "Hamilton et al., Inductive Representation Learning on Large Graphs, 2017"
    cost: ClassVar[str] = "an epoch is one product of hidden width per layer and its gradient"
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        "lr": (0.01, 0.05, 0.1),
        "weight_decay": (0.0, 5e-6, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2),
        "dropout": DROPOUTS,
    }

    features: FeatureScaling = "row"
    hidden_channels: int = 64
    num_layers: int = 2
    dropout: float = 0.5
    lr: float = 0.01
    weight_decay: float = 5e-4
    window: int = 200

    def network(self, shape: ModelShape) -> GraphSAGE:
        return GraphSAGE(shape.in_channels, self.hidden_channels, shape.num_outputs, self.num_layers, self.dropout)

    def stop_rule(self) -> LossWindow:
        return LossWindow(self.window)
