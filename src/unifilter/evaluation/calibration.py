"""Calibration: reliability diagrams and temperature scaling.

Both follow `"On Calibration of Modern Neural Networks" <https://arxiv.org/abs/1706.04599>`_ (Guo et al. 2017).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from unifilter._internal.checks import check_count
from unifilter._internal.plain import plain
from unifilter.evaluation.inputs import as_binary_targets, as_class_indices, as_distributions, as_finite

# Outside this range, probabilities are all equal or all 0 and 1 for logits of any trained network.
_COLDEST, _HOTTEST = 0.05, 20.0
# Larger differences of logits give the same probabilities at every temperature above. Clipping keeps sums finite.
_LARGEST = 1e100


@dataclass(frozen=True)
class Reliability:
    """Reliability diagram, from the least to the most confident bin. Empty bins are left out.

    Attributes:
        confidence: Mean probability of the predicted class in each bin.
        accuracy: Share of correct predictions in each bin; equals ``confidence`` for a calibrated model.
        count: Number of nodes in each bin.
        error: Expected calibration error: the mean over nodes of ``|accuracy - confidence|`` of their bin.
    """

    confidence: tuple[float, ...]
    accuracy: tuple[float, ...]
    count: tuple[int, ...]
    error: float

    def to_dict(self) -> dict[str, Any]:
        """A JSON-serializable dictionary."""
        return {name: plain(value) for name, value in asdict(self).items()}


def reliability(probabilities: Any, labels: Any, bins: int = 15) -> Reliability:
    """Compare confidence with accuracy in bins of equal width over the probability of the predicted class.

    Args:
        probabilities: Class probabilities ``[n, C]``.
        labels: Class indices ``[n]``.
        bins: Number of bins in [0, 1]. A confidence on a boundary belongs to the upper bin.

    Example:
        >>> reliability([[0.75, 0.25], [0.75, 0.25], [0.5, 0.5]], [0, 1, 0], bins=10).to_dict()
        {'confidence': [0.5, 0.75], 'accuracy': [1.0, 0.5], 'count': [1, 2], 'error': 0.3333333333333333}
    """
    bins = check_count("bins", bins, "pass bins=15")
    values = as_distributions(probabilities)
    truth = as_class_indices(labels, *values.shape)
    confidence = values.max(axis=1)
    correct = values.argmax(axis=1) == truth
    bin_of = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    count = np.bincount(bin_of, minlength=bins)
    filled = count > 0
    count = count[filled]
    mean_confidence = np.bincount(bin_of, weights=confidence, minlength=bins)[filled] / count
    accuracy = np.bincount(bin_of, weights=correct, minlength=bins)[filled] / count
    return Reliability(
        confidence=tuple(mean_confidence.tolist()),
        accuracy=tuple(accuracy.tolist()),
        count=tuple(count.tolist()),
        error=float((count * np.abs(accuracy - mean_confidence)).sum() / len(values)),
    )


def fit_temperature(logits: Any, labels: Any, weights: Any = None) -> float:
    r"""Find the temperature :math:`T` at which :math:`\mathrm{softmax}(z / T)` fits the labels best,

    .. math:: \min_T \; -\sum_i w_i \log \mathrm{softmax}(z_i / T)_{y_i} + \tfrac{1}{2} \log^2 T.

    The last term is a weak prior around :math:`T = 1`. It counts once rather than once per node, so it matters only
    for few nodes or perfectly separated ones, where it prevents extreme temperatures. Temperature scaling changes the
    confidence of predictions, not the predictions. Use nodes that the model was not trained on.

    Args:
        logits: ``[n, C]``, finite.
        labels: Class indices ``[n]``.
        weights: Weight of each row, ``[n]``. Default: 1.

    Returns:
        The temperature, between 0.05 and 20. It is above 1 if the model is overconfident.

    Example:
        >>> import numpy as np
        >>> logits = np.tile([6.0, 0.0], (100, 1))  # confident of class 0, but wrong in a quarter of the cases
        >>> round(fit_temperature(logits, [0, 0, 0, 1] * 25), 1)  # 6 / log 3 is 5.5; the prior pulls it towards 1
        5.1
    """
    values = as_finite(logits, "logits", (2,))
    truth = as_class_indices(labels, *values.shape)
    weight = _as_weights(weights, len(values))
    with np.errstate(over="ignore"):  # the difference can overflow; the next line clips it
        below_top = values - values.max(axis=1, keepdims=True)
    below_top = np.maximum(below_top, -_LARGEST)
    below_top_at_truth = below_top[np.arange(len(values)), truth]

    def loss(temperature: float) -> float:
        # The largest term is exp(0), so the logarithm is never of 0.
        log_sum = np.log(np.exp(below_top / temperature).sum(axis=1))
        return float(weight @ (log_sum - below_top_at_truth / temperature))

    return _best_temperature(loss)


def fit_temperature_binary(logits: Any, targets: Any) -> float:
    r"""Like :func:`fit_temperature` for binary outputs: one temperature for all :math:`\sigma(z / T)`.

    Args:
        logits: ``[n]`` or ``[n, L]``, finite.
        targets: Booleans, or zeros and ones, of the same shape. NaN means unknown and is ignored.

    Example:
        >>> round(fit_temperature_binary([4.0] * 100, [True] * 75 + [False] * 25), 1)  # 4 / log 3 is 3.6
        3.5
    """
    values = as_finite(logits, "logits", (1, 2))
    truth = as_binary_targets(targets, values.shape)
    known = ~np.isnan(truth)
    # Positive if the prediction is correct.
    margin = np.clip(np.where(truth == 1, values, -values)[known], -_LARGEST, _LARGEST)
    return _best_temperature(lambda temperature: float(np.logaddexp(0, -margin / temperature).sum()))


def _best_temperature(loss: Callable[[float], float]) -> float:
    from scipy.optimize import minimize_scalar

    def penalized(log_temperature: float) -> float:
        return loss(math.exp(log_temperature)) + 0.5 * log_temperature**2

    found = minimize_scalar(penalized, bounds=(math.log(_COLDEST), math.log(_HOTTEST)), method="bounded")
    return math.exp(found.x)


def _as_weights(weights: Any, rows: int) -> np.ndarray:
    if weights is None:
        return np.ones(rows)
    array = as_finite(weights, "weights", (1,))
    if len(array) != rows:
        raise ValueError(f"weights has {len(array)} numbers for {rows} rows: pass one number per row")
    if (array < 0).any():
        row = int((array < 0).argmax())
        raise ValueError(f"the weight of row {row} is {array[row]:g}: weights must be 0 or more")
    if not array.any():
        raise ValueError("all weights are 0: pass at least one that is positive")
    return array
