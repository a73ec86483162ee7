"""GCN, plain and with residual connections and normalization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.data import FeatureScaling
from unifilter.methods.masks import Presets, for_masks
from unifilter.methods.method import Method, ModelShape
from unifilter.methods.search import NETWORK
from unifilter.methods.stopping import stop_by_loss
from unifilter.nn import GCN, ResidualGCN
from unifilter.nn.initialization import Initialization
from unifilter.nn.norms import Norm
from unifilter.training import StopRule

# On the 60/20/20 splits: Luan et al., Revisiting Heterophily For Graph Neural Networks, 2022.
_SAME: dict[str, Any] = {"epochs": 5000, "input_dropout": True}
_PLAIN: dict[str, dict[str, Any]] = {
    "cora": {**_SAME, "lr": 0.1, "weight_decay": 5e-4, "dropout": 0.2},
    "citeseer": {**_SAME, "lr": 0.1, "weight_decay": 1e-3, "dropout": 0.9},
    "pubmed": {**_SAME, "lr": 0.1, "weight_decay": 5e-5, "dropout": 0.6},
    "chameleon": {**_SAME, "lr": 0.01, "weight_decay": 1e-5, "dropout": 0.9},
    "squirrel": {**_SAME, "lr": 0.01, "weight_decay": 5e-5, "dropout": 0.7},
    "actor": {**_SAME, "lr": 0.1, "weight_decay": 5e-4, "dropout": 0.0},
}
# On the masks: the scripts of Yan et al., Two Sides of the Same Coin, 2022, whose figures are quoted widely. They run
# on directed graphs of Chameleon, Squirrel and Actor.
_ON_MASKS = for_masks(
    {
        name: {"weight_decay": 5e-4 if name in ("cora", "citeseer") else 5e-5}
        for name in ("cora", "citeseer", "pubmed", "chameleon", "squirrel", "actor")
    },
    {
        "epochs": 1500, "patience": 100, "hidden_channels": 16, "initialization": "uniform", "lr": 0.01, "dropout": 0.5,
    },
    directed=True,
)  # fmt: skip

# Luo et al.'s published scripts; those for the citation graphs are for 20 training nodes a class, and left out.
_RESIDUAL: dict[str, dict[str, Any]] = {
    "squirrel-filtered": {
        "hidden_channels": 256, "num_layers": 4, "lr": 0.01, "weight_decay": 5e-4, "dropout": 0.7, "epochs": 500,
    },
    "chameleon-filtered": {
        "hidden_channels": 512, "num_layers": 5, "lr": 0.005, "weight_decay": 1e-3, "dropout": 0.2, "epochs": 200,
        "norm": "none", "residual": False,
    },
    "minesweeper": {
        "hidden_channels": 64, "num_layers": 12, "lr": 0.01, "weight_decay": 0.0, "dropout": 0.2, "epochs": 2000,
        "metric": "roc_auc",
    },
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class GCNMethod(Method):
    """A plain GCN; see :class:`unifilter.nn.gcn.GCN`.

    The defaults are those of papers on polynomial filters. Kipf and Welling's own, for the public split of the citation
    graphs: ``hidden_channels=16, input_dropout=True, decay_first_layer_only=True, epochs=200, window=10``.

    Attributes:
        hidden_channels, num_layers, dropout: Arguments of the network.
        input_dropout: Whether dropout also applies to the input.
        decay_first_layer_only: Whether weight decay applies to the first layer only.
        initialization: ``"glorot"`` weights with a bias of zero, or both ``"uniform"``, as in Kipf's code for PyTorch.
        window: Number of epochs of :class:`unifilter.training.LossWindow`.
        patience: Number of epochs without a lower validation loss, to use instead of the window; optional.
    """

    name: ClassVar[str] = "gcn"
    paper: ClassVar[str] = "Kipf and Welling, Semi-Supervised Classification with Graph Convolutional Networks, 2017"
    cost: ClassVar[str] = "an epoch is one product of hidden width per layer and its gradient"
    presets: ClassVar[Presets] = {**_PLAIN, **_ON_MASKS}
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {**NETWORK, "num_layers": (2, 3, 4)}

    features: FeatureScaling = "row"
    hidden_channels: int = 64
    num_layers: int = 2
    dropout: float = 0.5
    input_dropout: bool = False
    lr: float = 0.01
    weight_decay: float = 5e-4
    decay_first_layer_only: bool = False
    initialization: Initialization = "glorot"
    window: int = 200
    patience: int | None = None

    def network(self, shape: ModelShape) -> GCN:
        return GCN(
            shape.in_channels,
            self.hidden_channels,
            shape.num_outputs,
            self.num_layers,
            self.dropout,
            self.input_dropout,
            self.initialization,
        )

    def parameter_groups(self, model: GCN) -> list[dict[str, Any]]:
        rest = 0.0 if self.decay_first_layer_only else self.weight_decay
        return [
            {"params": list(layer.parameters()), "lr": self.lr, "weight_decay": rest if index else self.weight_decay}
            for index, layer in enumerate(model.layers)
        ]

    def stop_rule(self) -> StopRule:
        return stop_by_loss(self.patience, self.window)


@dataclass(frozen=True, kw_only=True)
class ResidualGCNMethod(Method):
    """GCN with residual connections and normalization, a strong plain baseline; see
    :class:`unifilter.nn.gcn.ResidualGCN`.

    Attributes:
        hidden_channels, num_layers, dropout, norm, residual: Arguments of the network.
        patience: Number of epochs without a better validation score; its authors train to the end and keep the best.
    """

    name: ClassVar[str] = "gcn-res"
    paper: ClassVar[str] = "Luo et al., Classic GNNs are Strong Baselines, 2024"
    cost: ClassVar[str] = "an epoch is one product of hidden width per layer and its gradient"
    presets = _RESIDUAL
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **NETWORK,
        "num_layers": (2, 3, 4, 5, 6),
        "norm": ("none", "batch", "layer"),
    }

    hidden_channels: int = 256
    num_layers: int = 3
    dropout: float = 0.5
    norm: Norm = "batch"
    residual: bool = True
    lr: float = 0.005
    weight_decay: float = 5e-4
    patience: int = 200

    def network(self, shape: ModelShape) -> ResidualGCN:
        return ResidualGCN(
            shape.in_channels,
            self.hidden_channels,
            shape.num_outputs,
            self.num_layers,
            self.dropout,
            self.norm,
            self.residual,
        )
