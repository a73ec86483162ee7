"""Is the model better than a baseline? Differences split by split, not of the means alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, Literal

from unifilter.reports.wording import score_of

# A difference counts when chance alone would make one as large in fewer than one of twenty cases.
_LEVEL = 0.05
# With fewer splits a difference that cannot be told from chance may still be a large one.
ENOUGH_SPLITS = 5


@dataclass(frozen=True)
class Comparison:
    """The model against a baseline, on the splits where both have a score.

    Attributes:
        difference: Mean over the splits; positive where the model is better.
        splits: How many splits were compared.
        better: On how many of them the model is better.
        worse: On how many it is worse.
        outcome: What can be said: ``"unknown"`` with fewer than two splits.
    """

    difference: float
    splits: int
    better: int
    worse: int
    outcome: Literal["better", "worse", "same", "unknown"]


def compare_with(report: Mapping[str, Any], role: str) -> Comparison | None:
    r"""The model against the baseline of this role; ``None`` where there is nothing to compare.

    Splits of one graph share training nodes, so their scores are not independent and an ordinary paired t-test finds
    differences that are none. The corrected resampled t-test (Nadeau and Bengio 2003) divides the mean difference by
    :math:`\sqrt{(1/J + n_\text{test}/n_\text{train})\,s^2}`, with :math:`J` splits and :math:`s` the standard deviation
    of the differences.
    """
    model, baseline = score_of(report, "model"), score_of(report, role)
    if model is None or baseline is None:
        return None
    # One score may be missing: a test set of one class has no ROC AUC.
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
    from scipy.special import stdtrit  # imported here: only a finished run needs it

    splits = len(differences)
    if splits < 2:
        return "unknown"
    # Small training sets overlap little, and the correction was not made for them: it stops at 1.
    overlap = min(split["test"] / max(split["train"], 1), 1.0)
    error = math.sqrt((1 / splits + overlap) * stdev(differences) ** 2)
    if abs(mean) <= float(stdtrit(splits - 1, 1 - _LEVEL / 2)) * error:
        return "same"
    return "better" if mean > 0 else "worse"
