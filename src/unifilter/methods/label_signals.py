"""UniFilter with the training labels as further signals."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from unifilter.methods.method import Learner, ModelShape
from unifilter.methods.problem import Problem
from unifilter.methods.uni_filter import UniFilterMethod
from unifilter.nn import GraphModule, LabelSignals
from unifilter.training import Classification, Regression, Task


@dataclass(frozen=True, kw_only=True)
class LabelSignalsMethod(UniFilterMethod):
    """UniFilter on the features, and an MLP on the training labels around each node; see
    :class:`unifilter.nn.LabelSignals`.

    Attributes:
        label_hops: Number of steps over which labels are collected.
        label_folds: Number of folds that hide a training node's own label from it.
        label_dropout: Dropout in the MLP on the label signals.
    """

    name: ClassVar[str] = "unifilter-labels"
    paper: ClassVar[str] = "ours; UniFilter with labels as inputs, as in label propagation and label reuse"
    cost: ClassVar[str] = "that of unifilter, and K products per fold once, as wide as the number of classes"
    needs: ClassVar[str] = "the nodes it was trained on"
    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    tuned: ClassVar[dict[str, dict[str, Any]]] = {}

    label_hops: int = 6
    label_folds: int = 10
    label_dropout: float = 0.2

    @property
    def transductive(self) -> bool:
        return True

    def facts(self, problem: Problem) -> dict[str, Any]:
        separate = not isinstance(problem.task, Classification)
        return {**super().facts(problem), "num_nodes": problem.dataset.num_nodes, "separate": separate}

    def network(self, shape: ModelShape) -> LabelSignals:  # type: ignore[override]
        return self._with_labels(self._on_features().network(shape), shape)

    def build(self, problem: Problem) -> Learner:
        if self.channels == "each":
            # Fails if the factorization is on the disk: the signals of all nodes are kept in memory too.
            problem.workspace.factorization(self.features, self.hops, self.self_loops)
        inner, shape = self._on_features().build(problem), self.shape(problem)
        model = self._with_labels(inner.model, shape).to(next(inner.model.parameters()))
        model.attach_labels(_labels(problem.task), torch.as_tensor(problem.train, device=problem.workspace.device))
        graph = problem.workspace.graph(self.self_loops)
        of_mlp = {**inner.parameter_groups[0], "params": list(model.mlp.parameters())}
        return replace(
            inner,
            model=model,
            shape=shape,
            forward=lambda nodes: inner.forward(nodes) + model.mlp(model.rows(graph)[nodes]),
            parameter_groups=[*inner.parameter_groups, of_mlp],
        )

    def _on_features(self) -> UniFilterMethod:
        """UniFilter with these settings."""
        return UniFilterMethod(**{field.name: getattr(self, field.name) for field in fields(UniFilterMethod)})

    def _with_labels(self, network: GraphModule, shape: ModelShape) -> LabelSignals:
        return LabelSignals(
            network,
            shape.facts["num_nodes"],
            shape.num_outputs,
            shape.facts.get("separate", False),
            self.label_hops,
            self.label_folds,
            label_dropout=self.label_dropout,
        )


def _labels(task: Task) -> Tensor:
    """Labels as numbers, one row per node: one-hot for classes, standardized for regression, NaN if unknown."""
    if isinstance(task, Classification):
        return one_hot(task.targets.clamp_min(0), task.num_outputs).double()
    if isinstance(task, Regression):
        return (task.targets - task.center) / task.scale
    return task.targets
