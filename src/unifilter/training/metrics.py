"""How predictions are scored."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.checks import check_choice
from unifilter.data import METRICS, Metric


def score(metric: Metric, logits: Tensor, labels: Tensor) -> float:
    """One number in [0, 1], the larger the better.

    Args:
        metric: ``"accuracy"``; ``"macro_f1"``, the mean of the F1 scores of the classes that occur in the labels or
            the predictions; ``"roc_auc"`` for two classes.
        logits: ``[rows, classes]``.
        labels: Class indices ``[rows]``.
    """
    check_choice("metric", metric, METRICS)
    if metric == "accuracy":
        return float((logits.argmax(dim=1) == labels).double().mean())
    from sklearn.metrics import f1_score, roc_auc_score

    truth = labels.cpu().numpy()
    if metric == "macro_f1":
        return float(f1_score(truth, logits.argmax(dim=1).cpu().numpy(), average="macro"))
    if logits.shape[1] != 2:
        raise ValueError(f"roc_auc is for two classes, and there are {logits.shape[1]}: use accuracy or macro_f1")
    if len(np.unique(truth)) < 2:
        raise ValueError(
            f"roc_auc compares two classes, and these {len(truth)} nodes are all of class {truth[0]}: "
            "use accuracy, or another split"
        )
    difference = (logits[:, 1] - logits[:, 0]).double().cpu().numpy()
    return float(roc_auc_score(truth, difference))


def all_scores(logits: Tensor, labels: Tensor) -> dict[str, float]:
    """Every metric that is defined for these labels."""
    metrics: list[Metric] = ["accuracy", "macro_f1"]
    if logits.shape[1] == 2 and len(torch.unique(labels)) == 2:
        metrics.append("roc_auc")
    return {metric: score(metric, logits, labels) for metric in metrics}
