"""Learning tasks and the metrics of each."""

from __future__ import annotations

from typing import Literal

TaskName = Literal["classification", "multilabel", "regression"]
Metric = Literal["accuracy", "balanced_accuracy", "macro_f1", "roc_auc", "micro_f1", "r2", "neg_rmse", "neg_mae"]

# The first metric is the default. Larger is better: errors have a minus sign, as in scikit-learn.
TASK_METRICS: dict[TaskName, tuple[Metric, ...]] = {
    "classification": ("accuracy", "balanced_accuracy", "macro_f1", "roc_auc"),
    "multilabel": ("macro_f1", "micro_f1", "accuracy", "roc_auc"),
    "regression": ("r2", "neg_rmse", "neg_mae"),
}
METRICS: tuple[Metric, ...] = tuple(dict.fromkeys(metric for some in TASK_METRICS.values() for metric in some))
