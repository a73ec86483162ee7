"""What GPR-GNN and its successors share: features are transformed first, and the logits are filtered then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unifilter.data import FeatureScaling
from unifilter.graph import SelfLoops
from unifilter.methods.method import Learner, Method
from unifilter.methods.problem import Problem
from unifilter.nn.decoupled import DecoupledFilter
from unifilter.nn.jacobi_conv import JacobiConv
from unifilter.training import StopRule


@dataclass(frozen=True, kw_only=True)
class DecoupledMethod(Method):
    """Settings of every method whose model is a :class:`unifilter.nn.decoupled.DecoupledFilter`.

    Attributes:
        hops: Degree K of the filter.
        hidden_channels: Width of the perceptron.
        lr, weight_decay: Of the perceptron.
        dropout: Dropout in the perceptron.
        filter_dropout: Dropout between perceptron and filter, ``dprate`` in the authors' scripts.
    """

    features: FeatureScaling = "row"
    hops: int = 10
    hidden_channels: int = 64
    lr: float = 0.01
    weight_decay: float = 5e-4
    dropout: float = 0.5
    filter_dropout: float = 0.5


def transform_first(
    method: Method,
    problem: Problem,
    model: DecoupledFilter | JacobiConv,
    parameter_groups: list[dict[str, Any]],
    stop: StopRule,
    self_loops: SelfLoops = "remove",
) -> Learner:
    """A learner that filters all nodes, whichever are asked for.

    Its response is a function of the Laplacian eigenvalues of the graph that it filters on: the one with self-loops
    where they are added.
    """
    graph, x = problem.workspace.graph(self_loops), problem.workspace.inputs(method.features)
    model.to(x.device, x.dtype)
    return Learner(model, lambda nodes: model(graph, x)[nodes], parameter_groups, stop, response=model.response)
