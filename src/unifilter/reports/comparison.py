"""Statistical comparison of a model with a baseline, based on the differences on each split."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, Literal

from unifilter.reports.wording import score_of

# Significance level.
_LEVEL = 0.05
# With fewer splits, even a large difference may not be distinguishable from chance.
ENOUGH_SPLITS = 5


@dataclass(frozen=True)
class Comparison:
    """The model against a baseline, on the splits where both have a score.

    Attributes:
        difference: Mean difference over the splits; positive if the model is better.
        splits: Number of splits compared.
        better: Number of splits on which the model is better.
        worse: Number of splits on which it is worse.
        outcome: The conclusion; ``"unknown"`` with fewer than two splits.
    """

    difference: float
    splits: int
    better: int
    worse: int
    outcome: Literal["better", "worse", "same", "unknown"]


def compare_with(report: Mapping[str, Any], role: str) -> Comparison | None:
    r"""Compare the model with the baseline of a role; ``None`` if there is nothing to compare.

    Splits of one graph share training nodes, so their scores are not independent, and an ordinary paired t-test reports
    too many differences. The corrected resampled t-test (Nadeau and Bengio 2003) divides the mean difference by
    :math:`\sqrt{(1/J + n_\text{test}/n_\text{train})\,s^2}`, with :math:`J` splits and :math:`s` the standard deviation
    of the differences.
    """
    model, baseline = score_of(report, "model"), score_of(report, role)
    if model is None or baseline is None:
        return None
    # Some scores can be missing: a test set of a single class has no ROC AUC.
    pairs = zip(model["values"], baseline["values"], strict=True)
    differences = [ours - theirs for ours, theirs in pairs if ours is not None and theirs is not None]
    if not differences:
        return None
    mean = fmean(differences)
    return Comparison(
        difference=mean,
        splits=len(differences),
        better=sum(one > 0 for one in differences),
        worse=sum(one < 0 for one in differences),
        outcome=_outcome(differences, mean, report["split"]),
    )


def _outcome(
    differences: list[float], mean: float, split: Mapping[str, Any]
) -> Literal["better", "worse", "same", "unknown"]:
    from scipy.special import stdtrit  # imported here because only a finished run needs it

    splits = len(differences)
    if splits < 2:
        return "unknown"
    # The correction assumes large, overlapping training sets. For small ones it is limited to 1.
    overlap = min(split["test"] / max(split["train"], 1), 1.0)
    error = math.sqrt((1 / splits + overlap) * stdev(differences) ** 2)
    if abs(mean) <= float(stdtrit(splits - 1, 1 - _LEVEL / 2)) * error:
        return "same"
    return "better" if mean > 0 else "worse"
