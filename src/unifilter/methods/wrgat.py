"""WRGAT: attention over neighbors and over nodes whose surroundings are alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.data import FeatureScaling
from unifilter.methods.method import Method, ModelShape
from unifilter.methods.problem import Problem
from unifilter.methods.search import DROPOUTS, RATES
from unifilter.nn import WRGAT
from unifilter.nn.wrgat import Aggregation, count_relations
from unifilter.training import Patience

# From 16 trials of `unifilter tune` on the validation nodes of the first mask, of at most 60 epochs each.
_TUNED: dict[str, dict[str, Any]] = {
    "chameleon/48": {"hidden_channels": 64, "original_edges": True, "dropout": 0.8, "lr": 0.005}
}


@dataclass(frozen=True, kw_only=True)
class WRGATMethod(Method):
    """Attention over nodes whose surroundings are alike; see :class:`unifilter.nn.wrgat.WRGAT`.

    The defaults are those of the authors' code, but for the aggregation; the settings that they chose for each graph
    are not published. Their code divides each sum over neighbors, whose weights the softmax has made a mean, by the
    number of neighbors once more: so every neighborhood counts the less the larger it is, and Chameleon's figure is
    out of reach. It validates every tenth epoch, stops after about twenty checks without improvement, and then tests
    its last weights, although it means to test the best. Here every epoch is validated and the best weights are
    restored.

    Attributes:
        hidden_channels, original_edges, dropout: Arguments of the network.
        aggregation: ``"sum"``, or ``"mean"`` as in the authors' code.
        structural_layers: Up to how many hops surroundings are compared, from 0 on, each a relation with weights of its
            own; ``None`` goes as far as there are nodes to compare.
        patience: Number of epochs without a better validation score.
    """

    name: ClassVar[str] = "wrgat"
    paper: ClassVar[str] = (
        "Suresh et al., Breaking the Limit of Graph Neural Networks by Improving the Assortativity of Graphs with "
        "Local Mixing Patterns, 2021"
    )
    cost: ClassVar[str] = (
        "degrees around every node are compared once per graph, edges times n; an epoch is attention and a product of "
        "hidden width for each relation, about 10 to 20 of them"
    )
    version: ClassVar[int] = 2  # 1 had the mean alone
    # From GloGNN's experiments, which use the authors' code: the authors' own settings are not published.
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "penn94": {"hidden_channels": 32, "epochs": 500, "original_edges": True, "aggregation": "mean"}
    }
    tuned = _TUNED
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        "hidden_channels": (32, 64, 128),
        "original_edges": (False, True),
        "dropout": DROPOUTS,
        "lr": RATES,
    }

    features: FeatureScaling = "raw"
    epochs: int = 300
    hidden_channels: int = 128
    original_edges: bool = False
    aggregation: Aggregation = "sum"
    structural_layers: int | None = None
    dropout: float = 0.5
    lr: float = 0.01
    weight_decay: float = 5e-5
    patience: int = 200

    def facts(self, problem: Problem) -> dict[str, Any]:
        return {"relations": count_relations(problem.workspace.graph(), self.structural_layers)}

    def network(self, shape: ModelShape) -> WRGAT:
        return WRGAT(
            shape.in_channels,
            self.hidden_channels,
            shape.num_outputs,
            shape.facts["relations"],
            self.original_edges,
            self.dropout,
            self.structural_layers,
            self.aggregation,
        )

    def stop_rule(self) -> Patience:
        return Patience(self.patience)
