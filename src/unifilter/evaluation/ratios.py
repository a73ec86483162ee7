"""Ratios of counts, with defined results for a zero denominator."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def ratio(part: float, whole: float) -> float | None:
    """``part / whole``, or ``None`` if ``whole`` is 0."""
    return float(part / whole) if whole else None


def f1_score(hits: int, support: int, predicted: int) -> float:
    """Harmonic mean of precision and recall; 0 if there are neither labels nor predictions."""
    return ratio(2 * hits, support + predicted) or 0.0


def roc_auc(scores: np.ndarray, positive: np.ndarray) -> float | None:
    """Area under the ROC curve, or ``None`` unless both values of ``positive`` occur."""
    if positive.all() or not positive.any():
        return None
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(positive, scores))


def mean_of_defined(values: Iterable[float | None]) -> float | None:
    """Mean of the values that are not ``None``, or ``None`` if there are none."""
    defined = [value for value in values if value is not None]
    return ratio(sum(defined), len(defined))
