"""The best constant answer: what every model has to beat."""

from __future__ import annotations

import torch

from unifilter.data import Metric, Split, TaskName
from unifilter.training import Task

# What it is called.
CONSTANT_NAMES: dict[TaskName, str] = {
    "classification": "most frequent class",
    "multilabel": "most frequent labels",
    "regression": "mean of the training nodes",
}


def constant_score(task: Task, metric: Metric, split: Split) -> float | None:
    """The score on the test nodes of the best constant answer of the training nodes; ``None`` where it is not defined.

    Args:
        task: The known answers, on the CPU.
        metric: Which score.
        split: Training and test nodes.
    """
    test = torch.as_tensor(split.test)
    outputs = task.constant(torch.as_tensor(split.train)).expand(len(test), -1)
    try:
        return task.score(metric, outputs, test)
    except ValueError:
        return None  # such as the ROC AUC of test nodes of one class
