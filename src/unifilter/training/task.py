"""What is learned: classes, several labels per node, or numbers. A task knows the answers, the loss and the scores."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional
from typing_extensions import Self

from unifilter._internal.checks import check_choice
from unifilter.data import TASK_METRICS, Metric, TaskName
from unifilter.training.metrics import all_scores, multilabel_score, regression_score, score


class Task(ABC):
    """The known answers of nodes, and how outputs of a network are compared with them.

    Args:
        targets: The answers, one row a node.
        weights: How much each node counts in the loss ``[num_nodes]``; by default all count alike.
    """

    name: ClassVar[TaskName]

    def __init__(self, targets: Tensor, weights: Tensor | None = None) -> None:
        self.targets, self.weights = targets, weights

    def to(self, device: torch.device | str) -> Self:
        """The same task on a device."""
        other = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                setattr(other, name, value.to(device))
        return other

    @property
    @abstractmethod
    def num_outputs(self) -> int:
        """How many outputs a network needs."""

    @property
    @abstractmethod
    def known(self) -> Tensor:
        """Whether anything is known of each node, bool ``[num_nodes]``."""

    @abstractmethod
    def losses(self, outputs: Tensor, nodes: Tensor) -> Tensor:
        """The loss of each of some nodes."""

    def loss(self, outputs: Tensor, nodes: Tensor) -> Tensor:
        """The mean loss of some nodes, by their weights.

        Args:
            outputs: Of the network for these nodes.
            nodes: Their indices.
        """
        losses = self.losses(outputs, nodes)
        if self.weights is None:
            return losses.mean()
        weights = self.weights[nodes].to(losses.dtype)
        return (losses * weights).sum() / weights.sum()

    def total_weight(self, nodes: Tensor) -> float:
        """How much some nodes count."""
        return float(len(nodes)) if self.weights is None else float(self.weights[nodes].sum())

    @abstractmethod
    def constant(self, train: Tensor) -> Tensor:
        """The outputs, ``[1, num_outputs]``, of the best constant answer: what a model has to beat.

        Args:
            train: The training nodes, whose answers it is made from.
        """

    def check_metric(self, metric: Metric) -> None:
        """Refuses a metric that is not one of this task."""
        check_choice("metric", metric, TASK_METRICS[self.name])

    @abstractmethod
    def score(self, metric: Metric, outputs: Tensor, nodes: Tensor) -> float:
        """One metric on some nodes; the larger, the better."""

    @abstractmethod
    def scores(self, outputs: Tensor, nodes: Tensor) -> dict[str, float]:
        """Every metric that is defined for these nodes."""


class Classification(Task):
    """One class per node: cross entropy.

    Args:
        labels: Class indices ``[num_nodes]``, -1 where unknown.
        num_classes: How many classes there are; by default those that occur.
        weights: How much each node counts.
    """

    name: ClassVar[TaskName] = "classification"

    def __init__(self, labels: Tensor, num_classes: int | None = None, weights: Tensor | None = None) -> None:
        super().__init__(labels, weights)
        self._num_classes = int(labels.max()) + 1 if num_classes is None else num_classes

    @property
    def num_outputs(self) -> int:
        return self._num_classes

    @property
    def known(self) -> Tensor:
        return self.targets >= 0

    def losses(self, outputs: Tensor, nodes: Tensor) -> Tensor:
        return functional.cross_entropy(outputs, self.targets[nodes], reduction="none")

    def loss(self, outputs: Tensor, nodes: Tensor) -> Tensor:
        if self.weights is None:  # in one step, which is faster
            return functional.cross_entropy(outputs, self.targets[nodes])
        return super().loss(outputs, nodes)

    def constant(self, train: Tensor) -> Tensor:
        """Always the most frequent class."""
        counts = torch.bincount(self.targets[train], minlength=self.num_outputs)
        return functional.one_hot(counts.argmax()[None], self.num_outputs).double()

    def score(self, metric: Metric, outputs: Tensor, nodes: Tensor) -> float:
        return score(metric, outputs, self.targets[nodes])

    def scores(self, outputs: Tensor, nodes: Tensor) -> dict[str, float]:
        return all_scores(outputs, self.targets[nodes])


class _MatrixTask(Task):
    """One row of answers per node, NaN where unknown."""

    @property
    def num_outputs(self) -> int:
        return self.targets.shape[1]

    @property
    def known(self) -> Tensor:
        return ~torch.isnan(self.targets).all(dim=1)

    def scores(self, outputs: Tensor, nodes: Tensor) -> dict[str, float]:
        found = {}
        for metric in TASK_METRICS[self.name]:
            try:
                found[metric] = self.score(metric, outputs, nodes)
            except ValueError:
                continue  # a metric that these nodes leave undefined, such as the ROC AUC of labels that all nodes have
        return {str(metric): value for metric, value in found.items()}


class MultiLabel(_MatrixTask):
    """Several labels per node, each there or not: binary cross entropy, averaged over the known labels of a node.

    Args:
        targets: 1, 0, or NaN where unknown, ``[num_nodes, labels]``.
        weights: How much each node counts.
    """

    name: ClassVar[TaskName] = "multilabel"

    def losses(self, outputs: Tensor, nodes: Tensor) -> Tensor:
        targets = self.targets[nodes].to(outputs.dtype)
        known = ~torch.isnan(targets)
        losses = functional.binary_cross_entropy_with_logits(
            outputs, torch.where(known, targets, 0.0), reduction="none"
        )
        return (losses * known).sum(dim=1) / known.sum(dim=1)

    def constant(self, train: Tensor) -> Tensor:
        """The labels that more than half of the nodes have."""
        return torch.nanmean(self.targets[train], dim=0, keepdim=True) - 0.5

    def score(self, metric: Metric, outputs: Tensor, nodes: Tensor) -> float:
        return multilabel_score(metric, outputs, self.targets[nodes])


class Regression(_MatrixTask):
    """Numbers: the squared error of standardized targets, so that learning rates mean the same whatever the unit.

    Args:
        targets: ``[num_nodes, targets]``, NaN where unknown.
        center, scale: What networks predict is ``(target - center) / scale``, each ``[targets]``.
        weights: How much each node counts.
    """

    name: ClassVar[TaskName] = "regression"

    def __init__(self, targets: Tensor, center: Tensor, scale: Tensor, weights: Tensor | None = None) -> None:
        super().__init__(targets, weights)
        self.center, self.scale = center, scale

    def losses(self, outputs: Tensor, nodes: Tensor) -> Tensor:
        wanted = ((self.targets[nodes] - self.center) / self.scale).to(outputs.dtype)
        known = ~torch.isnan(wanted)
        return ((outputs - torch.where(known, wanted, 0.0)).square() * known).sum(dim=1) / known.sum(dim=1)

    def predicted(self, outputs: Tensor) -> Tensor:
        """Outputs of the network in the unit of the targets, float64."""
        return outputs.double() * self.scale + self.center

    def constant(self, train: Tensor) -> Tensor:
        """Always the mean, which standardized targets have at 0."""
        return torch.zeros(1, self.num_outputs, dtype=torch.float64)

    def score(self, metric: Metric, outputs: Tensor, nodes: Tensor) -> float:
        return regression_score(metric, self.predicted(outputs), self.targets[nodes])
