"""Scores of predictions. Larger is better."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.checks import check_choice
from unifilter.data import TASK_METRICS, Metric


def score(metric: Metric, logits: Tensor, labels: Tensor) -> float:
    """A score of predicted classes, in [0, 1].

    Args:
        metric: ``"accuracy"``; ``"balanced_accuracy"``, the mean recall of the classes that occur in the labels;
            ``"macro_f1"``, the mean F1 score of all classes, 0 for a class that is neither present nor predicted;
            ``"roc_auc"`` for two classes.
        logits: ``[rows, classes]``.
        labels: Class indices ``[rows]``.
    """
    check_choice("metric", metric, TASK_METRICS["classification"])
    predicted = logits.argmax(dim=1)
    if metric == "accuracy":
        return float((predicted == labels).double().mean())
    truth, guess = labels.cpu().numpy(), predicted.cpu().numpy()
    if metric == "balanced_accuracy":
        return float(np.mean([np.mean(guess[truth == label] == label) for label in np.unique(truth)]))
    if metric == "macro_f1":
        classes = range(logits.shape[1])
        return float(np.mean([_f1(truth == label, guess == label) for label in classes]))
    if logits.shape[1] != 2:
        raise ValueError(f"roc_auc needs two classes, but there are {logits.shape[1]}: use accuracy or macro_f1")
    if len(np.unique(truth)) < 2:
        raise ValueError(
            f"roc_auc compares two classes, but these {len(truth)} nodes are all of class {truth[0]}: "
            "use accuracy, or another split"
        )
    return _roc_auc(truth, (logits[:, 1] - logits[:, 0]).double().cpu().numpy())


def all_scores(logits: Tensor, labels: Tensor) -> dict[str, float]:
    """All metrics that are defined for these labels."""
    metrics: list[Metric] = ["accuracy", "balanced_accuracy", "macro_f1"]
    if logits.shape[1] == 2 and len(torch.unique(labels)) == 2:
        metrics.append("roc_auc")
    return {metric: score(metric, logits, labels) for metric in metrics}


def multilabel_score(metric: Metric, logits: Tensor, targets: Tensor) -> float:
    """A score of multilabel predictions, in [0, 1].

    Args:
        metric: ``"accuracy"``, the share of nodes whose labels are all correct; ``"macro_f1"``, the mean F1 score of
            the labels; ``"micro_f1"``, the F1 score over all entries; ``"roc_auc"``, the mean over the labels that some
            nodes have and others do not.
        logits: ``[rows, labels]``.
        targets: 1, 0, or NaN if unknown, ``[rows, labels]``. Unknown entries are ignored.
    """
    check_choice("metric", metric, TASK_METRICS["multilabel"])
    known = ~torch.isnan(targets)
    truth, guess = (targets == 1).cpu().numpy(), (logits > 0).cpu().numpy()
    mask = known.cpu().numpy()
    if metric == "accuracy":
        whole = mask.all(axis=1)
        if not whole.any():
            raise ValueError("accuracy needs nodes whose labels are all known, but there are none: use macro_f1")
        return float((truth == guess)[whole].all(axis=1).mean())
    if metric == "micro_f1":
        return _f1(truth[mask], guess[mask])
    columns = range(targets.shape[1])
    if metric == "macro_f1":
        return float(np.mean([_f1(truth[mask[:, one], one], guess[mask[:, one], one]) for one in columns]))
    values = logits.double().cpu().numpy()
    both = [one for one in columns if len(np.unique(truth[mask[:, one], one])) == 2]
    if not both:
        raise ValueError("roc_auc needs a label that some nodes have and others lack, but there is none: use macro_f1")
    return float(np.mean([_roc_auc(truth[mask[:, one], one], values[mask[:, one], one]) for one in both]))


def regression_score(metric: Metric, predicted: Tensor, targets: Tensor) -> float:
    """A score of regression predictions, averaged over the targets.

    Args:
        metric: ``"r2"``, the coefficient of determination; ``"neg_rmse"``, minus the root mean squared error;
            ``"neg_mae"``, minus the mean absolute error.
        predicted: ``[rows, targets]``.
        targets: ``[rows, targets]``, NaN if unknown. Unknown entries are ignored.
    """
    check_choice("metric", metric, TASK_METRICS["regression"])
    scores = []
    for number, (guess, truth) in enumerate(zip(predicted.double().T, targets.double().T, strict=True)):
        known = ~torch.isnan(truth)
        if not known.any():
            raise ValueError(f"target {number} is unknown at all {len(known)} nodes: choose nodes that have it")
        error, truth = (guess - truth)[known], truth[known]
        if metric == "neg_rmse":
            scores.append(-float(error.square().mean().sqrt()))
        elif metric == "neg_mae":
            scores.append(-float(error.abs().mean()))
        else:
            # min == max is checked because rounding can make the variance of equal numbers nonzero.
            if truth.min() == truth.max():
                raise ValueError(
                    f"r2 needs targets that vary, but these {len(truth)} nodes all have the same value: "
                    "use neg_rmse, or another split"
                )
            total = (truth - truth.mean()).square().sum()
            scores.append(1 - float(error.square().sum() / total))
    return math.fsum(scores) / len(scores)


def _f1(truth: np.ndarray, guess: np.ndarray) -> float:
    hits, marked = np.sum(truth & guess), np.sum(truth) + np.sum(guess)
    return float(2 * hits / marked) if marked else 0.0


def _roc_auc(truth: np.ndarray, values: np.ndarray) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(truth, values))
