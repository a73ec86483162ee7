"""Ratios of counts, and what they are where there is nothing to divide by."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def ratio(part: float, whole: float) -> float | None:
    """``part / whole``; ``None`` where the whole is 0."""
    return float(part / whole) if whole else None


def f1_score(hits: int, support: int, predicted: int) -> float:
    """The harmonic mean of precision and recall; 0 where there is neither a label nor a prediction."""
    return ratio(2 * hits, support + predicted) or 0.0


def roc_auc(scores: np.ndarray, positive: np.ndarray) -> float | None:
    """Area under the ROC curve; ``None`` unless both values of ``positive`` occur."""
    if positive.all() or not positive.any():
        return None
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(positive, scores))


def mean_of_defined(values: Iterable[float | None]) -> float | None:
    """The mean of those that are not ``None``; ``None`` where all are."""
    defined = [value for value in values if value is not None]
    return ratio(sum(defined), len(defined))
