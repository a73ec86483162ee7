"""Whether training came to anything: a model that has learned nothing says so."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from unifilter.data import Metric
from unifilter.training import History, MultiLabel, Regression, Task

# A prediction that varies less than this share of the target's deviation is constant for all purposes.
_CONSTANT = 1e-3
# Weights of a filter that changed by less than this share of their size are where they started.
_UNMOVED = 0.02


class NothingLearnedWarning(UserWarning):
    """The trained model is no better than a constant answer."""


def nothing_learned(
    task: Task, outputs: Tensor, history: History, metric: Metric, val: np.ndarray, names: np.ndarray
) -> str:
    """A sentence where a model has learned nothing; empty where it has.

    Args:
        task: What was learned, on the CPU.
        outputs: Of all nodes, on the CPU.
        history: What happened in training.
        metric: What was measured on the validation nodes.
        val: The validation nodes.
        names: Of the classes.
    """
    if isinstance(task, Regression):
        if bool((outputs.std(dim=0, correction=0) < _CONSTANT).all()):
            return "It predicts nearly the same number for every node: it has learned nothing."
        return ""
    if metric == "roc_auc":
        # A model that ranks rare classes well may still give every node the same answer.
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
    """Whether the weights of a filter are where they started; never so for a method without any."""
    if before is None or after is None or before.shape != after.shape:
        return False
    return bool((after - before).abs().max() <= _UNMOVED * before.abs().max())
