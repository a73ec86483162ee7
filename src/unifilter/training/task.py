"""Learning tasks: classification, multilabel classification and regression, with targets, loss and scores."""

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
    """The known targets of nodes, and how the outputs of a network are compared with them.

    Args:
        targets: The targets, one row per node.
        weights: Weight of each node in the loss ``[num_nodes]``. Default: equal weights.
    """

    name: ClassVar[TaskName]

    def __init__(self, targets: Tensor, weights: Tensor | None = None) -> None:
        self.targets, self.weights = targets, weights

    def to(self, device: torch.device | str) -> Self:
        """The task on another device."""
        other = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                setattr(other, name, value.to(device))
        return other

    @property
    @abstractmethod
    def num_outputs(self) -> int:
        """Number of network outputs."""

    @property
    @abstractmethod
    def known(self) -> Tensor:
        """Whether some target of each node is known, bool ``[num_nodes]``."""

    @abstractmethod
    def losses(self, outputs: Tensor, nodes: Tensor) -> Tensor:
        """The loss of each node."""

    def loss(self, outputs: Tensor, nodes: Tensor) -> Tensor:
        """The weighted mean loss over nodes.

        Args:
            outputs: Outputs of the network for these nodes.
            nodes: Node indices.
        """
        losses = self.losses(outputs, nodes)
        if self.weights is None:
            return losses.mean()
        weights = self.weights[nodes].to(losses.dtype)
        return (losses * weights).sum() / weights.sum()

    def total_weight(self, nodes: Tensor) -> float:
        """Total weight of nodes."""
        return float(len(nodes)) if self.weights is None else float(self.weights[nodes].sum())

    @abstractmethod
    def constant(self, train: Tensor) -> Tensor:
        """The outputs, ``[1, num_outputs]``, of the best constant prediction, a baseline for models.

        Args:
            train: The training nodes that determine it.
        """

    def check_metric(self, metric: Metric) -> None:
        """Check that a metric belongs to this task."""
        check_choice("metric", metric, TASK_METRICS[self.name])

    @abstractmethod
    def score(self, metric: Metric, outputs: Tensor, nodes: Tensor) -> float:
        """A metric on some nodes. Larger is better."""

    @abstractmethod
    def scores(self, outputs: Tensor, nodes: Tensor) -> dict[str, float]:
        """All metrics that are defined for these nodes."""


class Classification(Task):
    """One class per node: cross entropy.

    Args:
        labels: Class indices ``[num_nodes]``, -1 if unknown.
        num_classes: Number of classes. Default: those that occur.
        weights: Weight of each node in the loss.
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
        if self.weights is None:  # faster in one call
            return functional.cross_entropy(outputs, self.targets[nodes])
        return super().loss(outputs, nodes)

    def constant(self, train: Tensor) -> Tensor:
        """The most frequent class."""
        counts = torch.bincount(self.targets[train], minlength=self.num_outputs)
        return functional.one_hot(counts.argmax()[None], self.num_outputs).double()

    def score(self, metric: Metric, outputs: Tensor, nodes: Tensor) -> float:
        return score(metric, outputs, self.targets[nodes])

    def scores(self, outputs: Tensor, nodes: Tensor) -> dict[str, float]:
        return all_scores(outputs, self.targets[nodes])


class _MatrixTask(Task):
    """Tasks with a row of targets per node, NaN if unknown."""

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
                continue  # undefined for these nodes, such as the ROC AUC of a label that all nodes have
        return {str(metric): value for metric, value in found.items()}


class MultiLabel(_MatrixTask):
    """Multilabel classification: binary cross entropy, averaged over the known labels of a node.

    Args:
        targets: 1, 0, or NaN if unknown, ``[num_nodes, labels]``.
        weights: Weight of each node in the loss.
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
        """The labels of more than half of the nodes."""
        return torch.nanmean(self.targets[train], dim=0, keepdim=True) - 0.5

    def score(self, metric: Metric, outputs: Tensor, nodes: Tensor) -> float:
        return multilabel_score(metric, outputs, self.targets[nodes])


class Regression(_MatrixTask):
    """Regression: squared error of standardized targets, so that learning rates do not depend on the unit.

    Args:
        targets: ``[num_nodes, targets]``, NaN if unknown.
        center, scale: Networks predict ``(target - center) / scale``; each ``[targets]``.
        weights: Weight of each node in the loss.
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
        """Outputs of the network in the units of the targets, float64."""
        return outputs.double() * self.scale + self.center

    def constant(self, train: Tensor) -> Tensor:
        """The mean, which is 0 for standardized targets."""
        return torch.zeros(1, self.num_outputs, dtype=torch.float64)

    def score(self, metric: Metric, outputs: Tensor, nodes: Tensor) -> float:
        return regression_score(metric, self.predicted(outputs), self.targets[nodes])
