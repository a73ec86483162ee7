"""Ordered GNN: gates that select, chunk by chunk, the hops that a node receives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.data import FeatureScaling
from unifilter.methods.method import Method, ModelShape
from unifilter.methods.search import DECAYS, DROPOUTS, NETWORK
from unifilter.nn import OrderedGNN
from unifilter.training import Patience

# The authors' settings, all for the 48/32/20 masks. One weight decay for everything on Chameleon and Squirrel.
_CHAMELEON: dict[str, Any] = {
    "lr": 0.005, "dropout": 0.1, "hop_dropout": 0.1, "weight_decay": 5e-4, "linear_weight_decay": 5e-4,
}  # fmt: skip
_SQUIRREL: dict[str, Any] = {**_CHAMELEON, "dropout": 0.3}
_PUBLISHED: dict[str, dict[str, Any]] = {
    "cora/48": {
        "lr": 0.005, "dropout": 0.1, "hop_dropout": 0.2, "weight_decay": 5e-6, "linear_weight_decay": 5e-6,
    },
    "citeseer/48": {
        "lr": 0.001, "dropout": 0.4, "hop_dropout": 0.0, "weight_decay": 5e-4, "linear_weight_decay": 5e-8,
        "num_input_layers": 2,
    },
    "pubmed/48": {
        "lr": 0.005, "dropout": 0.4, "hop_dropout": 0.0, "weight_decay": 0.05, "linear_weight_decay": 5e-6,
        "num_input_layers": 3, "shared_gate": True,
    },
    "chameleon/48": _CHAMELEON,
    "squirrel/48": _SQUIRREL,
    "chameleon-directed/48": _CHAMELEON,
    "squirrel-directed/48": _SQUIRREL,
    "actor/48": {
        "lr": 0.01, "dropout": 0.0, "hop_dropout": 0.0, "weight_decay": 5e-4, "linear_weight_decay": 0.05,
        "num_input_layers": 2,
    },
    "ogbn-arxiv": {
        "features": "raw", "lr": 0.005, "dropout": 0.2, "hop_dropout": 0.05, "weight_decay": 5e-4,
        "linear_weight_decay": 5e-8, "num_input_layers": 3, "shared_gate": True,
    },
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class OrderedGNNMethod(Method):
    """Gates that say up to which hop a node listens; see :class:`unifilter.nn.ordered_gnn.OrderedGNN`.

    Two things of the authors' code are different here. On Chameleon and Squirrel it throws the features away and has an
    identity matrix in their place, on the directed graph; pass the identity as features to do so. And where the weight
    decays differ, it leaves the LayerNorm of the input layers out of the optimizer; here it is trained as those layers
    are.

    Attributes:
        hidden_channels, num_layers, num_input_layers, chunk_channels, shared_gate, dropout, hop_dropout: Arguments of
            the network.
        weight_decay: Weight decay of gates and norms of the hops.
        linear_weight_decay: Weight decay of the layers before and after the hops.
        patience: Number of epochs without a better validation score.
    """

    name: ClassVar[str] = "ordered-gnn"
    paper: ClassVar[str] = (
        "Song et al., Ordered GNN: Ordering Message Passing to Deal with Heterophily and Over-smoothing, 2023"
    )
    cost: ClassVar[str] = "an epoch is one product of hidden width per hop, 8 of width 256, and its gradient"
    presets = _PUBLISHED
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **NETWORK,
        "num_input_layers": (1, 2, 3),
        "shared_gate": (False, True),
        "hop_dropout": DROPOUTS,
        "linear_weight_decay": DECAYS,
    }

    features: FeatureScaling = "row"
    epochs: int = 2000
    hidden_channels: int = 256
    num_layers: int = 8
    num_input_layers: int = 1
    chunk_channels: int = 4
    shared_gate: bool = False
    dropout: float = 0.1
    hop_dropout: float = 0.1
    lr: float = 0.005
    weight_decay: float = 5e-4
    linear_weight_decay: float = 5e-4
    patience: int = 200

    def network(self, shape: ModelShape) -> OrderedGNN:
        return OrderedGNN(
            shape.in_channels,
            self.hidden_channels,
            shape.num_outputs,
            self.num_layers,
            self.num_input_layers,
            self.chunk_channels,
            self.shared_gate,
            self.dropout,
            self.hop_dropout,
        )

    def parameter_groups(self, model: OrderedGNN) -> list[dict[str, Any]]:
        return model.parameter_groups(self.lr, self.weight_decay, self.linear_weight_decay)

    def stop_rule(self) -> Patience:
        return Patience(self.patience)
