"""Detection of models that have learned nothing."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from unifilter.data import Metric
from unifilter.training import History, MultiLabel, Regression, Task

# Predictions that vary less than this share of the target's standard deviation count as constant.
_CONSTANT = 1e-3
# Filter weights that changed by less than this share of their size count as unchanged.
_UNMOVED = 0.02


class NothingLearnedWarning(UserWarning):
    """The trained model is no better than a constant prediction."""


def nothing_learned(
    task: Task, outputs: Tensor, history: History, metric: Metric, val: np.ndarray, names: np.ndarray
) -> str:
    """A sentence if a model has learned nothing, otherwise an empty string.

    Args:
        task: The task, on the CPU.
        outputs: Outputs for all nodes, on the CPU.
        history: The training history.
        metric: The metric on the validation nodes.
        val: The validation nodes.
        names: Class names.
    """
    if isinstance(task, Regression):
        if bool((outputs.std(dim=0, correction=0) < _CONSTANT).all()):
            return "It predicts nearly the same number for every node: it has learned nothing."
        return ""
    if metric == "roc_auc":
        # A model that ranks rare classes well may still predict the same class for every node.
        if history.best_epoch >= 0 and history.best_score <= 0.5:
            return "It ranks the validation nodes no better than chance: it has learned nothing."
        return ""
    if isinstance(task, MultiLabel):
        if bool(((outputs > 0) == (outputs[0] > 0)).all()):
            return "It predicts the same labels for every node: it has learned nothing."
        return ""
    predicted = outputs.argmax(dim=1)
    if bool((predicted == predicted[0]).all()):
        return f"It predicts {str(names[int(predicted[0])])!r} for every node: it has learned nothing."
    known = task.targets[torch.as_tensor(val)]
    accuracy = float((predicted[val] == known).double().mean())
    majority = int(known.bincount().max()) / len(known)
    if history.epochs > 1 and history.best_epoch <= 0 and accuracy <= majority:
        return (
            "No epoch was better than the first, and it is no better than the most frequent class on the validation "
            "nodes: it has learned nothing."
        )
    return ""


def filter_unmoved(before: Tensor | None, after: Tensor | None) -> bool:
    """Whether the weights of a filter did not change in training; false for a method without filter weights."""
    if before is None or after is None or before.shape != after.shape:
        return False
    return bool((after - before).abs().max() <= _UNMOVED * before.abs().max())
