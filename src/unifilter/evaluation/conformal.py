"""Split conformal prediction: sets and intervals that contain the truth with a chosen probability.

The scores of calibration nodes, which the model was not trained on, measure its errors. If calibration nodes and new
nodes are exchangeable, the resulting sets contain the truth with probability at least ``1 - alpha`` for any model. The
probability is over both kinds of nodes; it does not hold separately for each class or node.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from unifilter.evaluation.inputs import as_class_indices, as_distributions, as_finite


def conformal_scores(probabilities: Any, labels: Any) -> np.ndarray:
    """Nonconformity scores of calibration nodes: 1 minus the probability of the true class.

    Args:
        probabilities: Class probabilities ``[m, C]``.
        labels: Class indices ``[m]``.

    Example:
        >>> conformal_scores([[0.75, 0.25], [0.5, 0.5]], [0, 1])
        array([0.25, 0.5 ])
    """
    values = as_distributions(probabilities)
    truth = as_class_indices(labels, *values.shape)
    return np.asarray(1 - values[np.arange(len(values)), truth])


def prediction_sets(probabilities: Any, scores: Any, alpha: float) -> np.ndarray:
    r"""Sets of classes that miss the true class with probability at most ``alpha``.

    A class is in the set if its score, 1 minus its probability, is at most the
    :math:`\lceil (m + 1)(1 - \alpha) \rceil`-th smallest of the :math:`m` calibration scores. The most probable class
    is always in the set, so no set is empty.

    With fewer than :math:`1 / \alpha - 1` calibration nodes this score does not exist. The sets then contain all
    classes, because no smaller set has the coverage.

    Args:
        probabilities: Class probabilities ``[n, C]``.
        scores: Scores of calibration nodes from :func:`conformal_scores`, ``[m]``.
        alpha: Allowed error rate, between 0 and 1.

    Returns:
        Booleans ``[n, C]``.

    Example:
        >>> scores = [0.1, 0.2, 0.4, 0.5]
        >>> prediction_sets([[0.9, 0.1], [0.5, 0.5]], scores, alpha=0.2)
        array([[ True, False],
               [ True,  True]])
        >>> prediction_sets([[0.9, 0.1]], scores, alpha=0.1)  # 4 nodes cannot guarantee 90 %
        array([[ True,  True]])
    """
    values = as_distributions(probabilities)
    sets = 1 - values <= _threshold(as_finite(scores, "scores", (1,)), alpha)
    sets[np.arange(len(values)), values.argmax(axis=1)] = True
    return np.asarray(sets)


def interval_halfwidth(residuals: Any, alpha: float) -> float:
    """Half-width of an interval around a prediction that contains the truth with probability ``1 - alpha``.

    Args:
        residuals: Target minus prediction on calibration nodes, ``[m]``. The sign does not matter.
        alpha: Allowed error rate, between 0 and 1.

    Returns:
        The ``ceil((m + 1)(1 - alpha))``-th smallest absolute residual, or infinity if there are fewer nodes than that.

    Example:
        >>> interval_halfwidth([0.5, -2.0, 1.0, -0.25], alpha=0.4)
        1.0
        >>> interval_halfwidth([0.5, -2.0, 1.0, -0.25], alpha=0.1)
        inf
    """
    return _threshold(np.abs(as_finite(residuals, "residuals", (1,))), alpha)


def _threshold(scores: np.ndarray, alpha: float) -> float:
    rank = math.ceil((len(scores) + 1) * (1 - _exact(alpha)))
    return float(np.partition(scores, rank - 1)[rank - 1]) if rank <= len(scores) else math.inf


def _exact(alpha: float) -> Fraction:
    """Convert ``alpha`` exactly as written: in floats, 10 * (1 - 0.7) is above 3, and its ceiling would be 4."""
    try:
        number = float(alpha)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number < 1:
        raise ValueError(f"alpha must lie between 0 and 1, not {alpha!r}: pass 0.1 for a coverage of 90 %")
    return Fraction(str(number))
