"""GloGNN++ and GloGNN: every node aggregates all others, with closed-form coefficients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.data import FeatureScaling
from unifilter.methods.method import Method, ModelShape
from unifilter.methods.search import NETWORK
from unifilter.nn import GloGNN
from unifilter.training import LossWindow
from unifilter.training.stopping import Monitor

# The authors' scripts for GloGNN++ on the 48/32/20 masks. For other splits none are published. Those for large graphs
# are for another network, with one more layer and without the mean over neighbors.
_PUBLISHED: dict[str, dict[str, Any]] = {
    "cora/48": {
        "dropout": 0.8, "window": 40, "weight_decay": 5e-5, "alpha": 0.0, "beta": 800.0, "gamma": 0.8, "delta": 0.9,
        "num_layers": 2, "orders": 4,
    },
    "citeseer/48": {
        "dropout": 0.8, "window": 40, "weight_decay": 1e-5, "alpha": 1.0, "beta": 1000.0, "gamma": 0.8, "delta": 1.0,
        "num_layers": 2, "orders": 3,
    },
    "pubmed/48": {
        "dropout": 0.6, "window": 200, "weight_decay": 1e-4, "alpha": 0.0, "beta": 20_000.0, "gamma": 0.5, "delta": 1.0,
        "num_layers": 1, "orders": 3,
    },
    "chameleon/48": {
        "dropout": 0.4, "window": 300, "weight_decay": 1e-4, "alpha": 1.0, "beta": 1.0, "gamma": 0.4, "delta": 0.0,
        "num_layers": 3, "orders": 2,
    },
    "squirrel/48": {
        "dropout": 0.8, "window": 200, "weight_decay": 0.0, "alpha": 0.0, "beta": 1.0, "gamma": 0.0, "delta": 0.0,
        "num_layers": 3, "orders": 2,
    },
    "actor/48": {
        "dropout": 0.0, "window": 40, "weight_decay": 1e-3, "alpha": 0.0, "beta": 15_000.0, "gamma": 0.2, "delta": 1.0,
        "num_layers": 2, "orders": 4,
    },
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class GloGNNPlusPlusMethod(Method):
    """GloGNN++; see :class:`unifilter.nn.GloGNN`.

    Training stops by the authors' rule. Their code then tests the weights of the last epoch; this method keeps the
    weights of the best epoch on the validation nodes, by ``keep``. Their code runs in double precision, this method
    in the precision of the features: use ``NodeClassifier("glognn++", dtype="float64")`` for double precision.

    Attributes:
        hidden_channels, num_layers, orders, dropout: Arguments of the network.
        alpha: Penalty on the size of the coefficients between nodes.
        beta: Penalty on the distance of the coefficients from the graph.
        gamma: Share of the MLP's output in each layer.
        delta: Share of the features in the MLP's input; the rest comes from one weight per node. Unless delta is
            1, the model works only on the nodes of its graph.
        scaled: Whether channels have learned weights, the addition of GloGNN++ to GloGNN.
        window: Number of epochs of :class:`unifilter.training.LossWindow`.
        keep: Criterion of the best epoch: validation ``"score"`` or ``"loss"``. On Chameleon
            the loss is lowest long before the accuracy is highest.
    """

    name: ClassVar[str] = "glognn++"
    paper: ClassVar[str] = "Li et al., Finding Global Homophily in Graph Neural Networks When Meeting Heterophily, 2022"
    cost: ClassVar[str] = "an epoch is one product of hidden width, and as many of class width as layers times orders"
    needs: ClassVar[str] = "the nodes it was trained on, unless delta is 1"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = _PUBLISHED
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **NETWORK,
        "alpha": (0.0, 1.0, 10.0),
        "beta": (0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0),
        "gamma": tuple(k / 10 for k in range(10)),
        "delta": (0.0, 0.5, 0.9, 1.0),
        "num_layers": (1, 2, 3),
        "orders": (2, 3, 4),
    }

    features: FeatureScaling = "row"
    epochs: int = 2000
    hidden_channels: int = 64
    num_layers: int = 2
    orders: int = 2
    alpha: float = 0.0
    beta: float = 1.0
    gamma: float = 0.5
    delta: float = 0.5
    scaled: bool = True
    dropout: float = 0.5
    lr: float = 0.01
    weight_decay: float = 5e-5
    window: int = 200
    keep: Monitor = "score"

    @property
    def transductive(self) -> bool:
        return self.delta != 1

    def network(self, shape: ModelShape) -> GloGNN:
        return GloGNN(
            shape.in_channels,
            self.hidden_channels,
            shape.num_outputs,
            shape.facts.get("num_nodes"),
            self.num_layers,
            self.orders,
            self.alpha,
            self.beta,
            self.gamma,
            self.delta,
            self.scaled,
            self.dropout,
        )

    def stop_rule(self) -> LossWindow:
        return LossWindow(self.window, self.keep)


@dataclass(frozen=True, kw_only=True)
class GloGNNMethod(GloGNNPlusPlusMethod):
    """GloGNN++ without learned channel weights."""

    name: ClassVar[str] = "glognn"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    scaled: bool = False
