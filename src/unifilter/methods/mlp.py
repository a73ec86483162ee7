"""An MLP on the features alone, the baseline for the benefit of the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter.data import FeatureScaling
from unifilter.methods.method import Learner, Method, ModelShape
from unifilter.methods.problem import Problem
from unifilter.methods.search import NETWORK
from unifilter.nn import MLP
from unifilter.training import LossWindow


@dataclass(frozen=True, kw_only=True)
class MLPMethod(Method):
    """An MLP that does not use the graph: a plain :class:`unifilter.nn.MLP`.

    It is the one that papers on polynomial filters compare with: biases, torch's initial weights, and dropout on the
    features and on the hidden layer.

    Attributes:
        hidden_channels, num_layers, dropout, batch_norm: Arguments of the MLP.
        window: Number of epochs of :class:`unifilter.training.LossWindow`.
    """

    name: ClassVar[str] = "mlp"
    version: ClassVar[int] = 2  # 1 had UniFilter's MLP, without biases
    paper: ClassVar[str] = "the plain baseline, with the settings of papers on polynomial filters"
    cost: ClassVar[str] = "no product with the graph; an epoch is a few dense layers"
    search_space: ClassVar[Mapping[str, Sequence[Any]]] = {
        **NETWORK,
        "num_layers": (2, 3, 4, 5, 6),
        "batch_norm": (False, True),
    }

    features: FeatureScaling = "row"
    hidden_channels: int = 64
    num_layers: int = 2
    dropout: float = 0.5
    batch_norm: bool = False
    lr: float = 0.01
    weight_decay: float = 5e-4
    window: int = 200

    def network(self, shape: ModelShape) -> MLP:
        return MLP(
            shape.in_channels,
            self.hidden_channels,
            shape.num_outputs,
            self.num_layers,
            self.dropout,
            self.batch_norm,
            plain=True,
        )

    def stop_rule(self) -> LossWindow:
        return LossWindow(self.window)

    def build(self, problem: Problem) -> Learner:
        # Rows of dense features: unlike a model on the graph, an MLP need not look at all nodes.
        x, shape = problem.workspace.features(self.features), self.shape(problem)
        model = self.network(shape).to(x)
        return Learner(
            model,
            shape,
            lambda nodes: model(x[nodes]),
            self.parameter_groups(model),
            self.stop_rule(),
            row_wise=True,
        )
