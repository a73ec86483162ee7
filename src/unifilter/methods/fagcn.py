"""FAGCN: a gate on each edge says whether neighbors are added or subtracted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.data import FeatureScaling
from unifilter.methods.method import Method, ModelShape
from unifilter.methods.search import NETWORK
from unifilter.nn import FAGCN
from unifilter.training import LossWindow


def _searched(hidden_channels: int, lr: float, weight_decay: float, dropout: float) -> dict[str, Any]:
    return {
        "hidden_channels": hidden_channels, "lr": lr, "weight_decay": weight_decay, "dropout": dropout, "epochs": 5000,
    }  # fmt: skip


# Luan et al., Revisiting Heterophily For Graph Neural Networks, 2022, who searched settings for every graph.
_PUBLISHED: dict[str, dict[str, Any]] = {
    "cora": _searched(32, 0.05, 5e-4, 0.0),
    "citeseer": _searched(32, 0.05, 5e-4, 0.0),
    "pubmed": _searched(32, 0.05, 5e-4, 0.0),
    "chameleon": _searched(32, 0.002, 1e-4, 0.0),
    "squirrel": _searched(32, 0.05, 1e-4, 0.0),
    "actor": _searched(32, 0.01, 5e-5, 0.6),
    "cora/48": _searched(64, 0.02, 1e-4, 0.5),
    "citeseer/48": _searched(64, 0.02, 5e-5, 0.4),
    "pubmed/48": _searched(64, 0.01, 1e-4, 0.0),
    "chameleon/48": _searched(64, 0.01, 5e-5, 0.0),
    # Printed as 0.00; of the rates they searched only this one is below 0.005.
    "squirrel/48": _searched(64, 0.002, 5e-3, 0.0),
    "actor/48": _searched(64, 0.01, 5e-5, 0.4),
}


@dataclass(frozen=True, kw_only=True)
class FAGCNMethod(Method):
    """Neighbors added or subtracted by a gate on each edge; see :class:`unifilter.nn.fagcn.FAGCN`.

    The defaults are those of the authors' code, apart from the stop rule. There, training on heterophilous graphs goes
    on to the end and the epoch with the highest validation accuracy is kept, and on citation graphs the one with the
    lowest validation loss. Here the rule is that of the experiments which the settings per graph are from.

    Attributes:
        hidden_channels, num_layers, dropout, epsilon: Arguments of the network.
        window: Number of epochs of :class:`unifilter.training.LossWindow`.
    """

    name: ClassVar[str] = "fagcn"
    paper: ClassVar[str] = "Bo et al., Beyond Low-frequency Information in Graph Convolutional Networks, 2021"
    cost: ClassVar[str] = "an epoch is a gate for each edge and one product of hidden width per layer, and its gradient"
    presets = _PUBLISHED
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **NETWORK,
        "hidden_channels": (32, 64, 128),
        "num_layers": (2, 3, 4),
        "epsilon": (0.1, 0.3, 0.5, 0.7, 0.9),
    }

    features: FeatureScaling = "row"
    epochs: int = 500
    hidden_channels: int = 32
    num_layers: int = 2
    dropout: float = 0.5
    epsilon: float = 0.3
    lr: float = 0.01
    weight_decay: float = 5e-5
    window: int = 200

    def network(self, shape: ModelShape) -> FAGCN:
        return FAGCN(
            shape.in_channels, self.hidden_channels, shape.num_outputs, self.num_layers, self.dropout, self.epsilon
        )

    def stop_rule(self) -> LossWindow:
        return LossWindow(self.window)
