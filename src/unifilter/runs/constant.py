"""The best constant prediction, a baseline for every model."""

from __future__ import annotations

import torch

from unifilter.data import Metric, Split, TaskName
from unifilter.training import Task

# Name of the baseline.
CONSTANT_NAMES: dict[TaskName, str] = {
    "classification": "most frequent class",
    "multilabel": "most frequent labels",
    "regression": "mean of the training nodes",
}


def constant_score(task: Task, metric: Metric, split: Split) -> float | None:
    """Test score of the best constant prediction for the training nodes; ``None`` if the metric is undefined.

    Args:
        task: The task with its targets, on the CPU.
        metric: The metric.
        split: Training and test nodes.
    """
    test = torch.as_tensor(split.test)
    outputs = task.constant(torch.as_tensor(split.train)).expand(len(test), -1)
    try:
        return task.score(metric, outputs, test)
    except ValueError:
        return None  # for example ROC AUC if all test nodes have the same class
