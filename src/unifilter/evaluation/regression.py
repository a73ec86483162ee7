"""Errors of regression predictions, with a constant prediction as baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from unifilter._internal.plain import plain
from unifilter.evaluation.inputs import as_finite, as_names, as_numbers
from unifilter.evaluation.ratios import mean_of_defined
from unifilter.evaluation.text_table import Cell, text_table

RESIDUAL_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class TargetScores:
    """Errors of one target.

    Attributes:
        name: Name of the target.
        r2: Coefficient of determination; ``None`` if the target is constant.
        rmse: Root mean squared error.
        mae: Mean absolute error.
        baseline: The constant that the baseline predicts.
        baseline_rmse, baseline_mae: Errors of the baseline.
        residual_quantiles: Quantiles of target minus prediction at :data:`RESIDUAL_LEVELS`: 5, 25, 50, 75 and 95 %.
    """

    name: str
    r2: float | None
    rmse: float
    mae: float
    baseline: float
    baseline_rmse: float
    baseline_mae: float
    residual_quantiles: tuple[float, ...]


@dataclass(frozen=True)
class RegressionReport:
    """Result of :func:`regression_report`.

    Attributes:
        nodes: Number of nodes scored.
        r2: Mean over the targets that are not constant; ``None`` if all are.
        rmse, mae, baseline_rmse, baseline_mae: Means over the targets. If units differ, see ``per_target``.
        per_target: Errors of each target.
    """

    nodes: int
    r2: float | None
    rmse: float
    mae: float
    baseline_rmse: float
    baseline_mae: float
    per_target: tuple[TargetScores, ...]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-serializable dictionary. Undefined values are ``None``."""
        return {name: plain(value) for name, value in asdict(self).items()}

    def __str__(self) -> str:
        scores: list[list[Cell]] = [["", "R2", "RMSE", "MAE", "baseline RMSE", "baseline MAE"]]
        for one in self.per_target:
            scores.append([one.name, one.r2, one.rmse, one.mae, one.baseline_rmse, one.baseline_mae])
        if len(self.per_target) > 1:
            scores.append(["mean", self.r2, self.rmse, self.mae, self.baseline_rmse, self.baseline_mae])
        residuals: list[list[Cell]] = [["residuals", *(f"{level:.0%}" for level in RESIDUAL_LEVELS)]]
        residuals += [[one.name, *one.residual_quantiles] for one in self.per_target]
        return f"{text_table(scores, '.4g')}\n\n{text_table(residuals, '.4g')}\n\nnodes  {self.nodes}"


def regression_report(
    predicted: Any, target: Any, names: Sequence[str] = ("target",), baseline: Any = None
) -> RegressionReport:
    """Compute the errors of regression predictions.

    Args:
        predicted: ``[n]``, or ``[n, t]`` for several targets.
        target: The true values, of the same shape. NaN means unknown; unknown entries are ignored.
        names: Names of the targets.
        baseline: The constant that the baseline predicts, one for all targets or one per target: pass the mean of
            the training nodes. Default: the mean of ``target``, which a model cannot know beforehand.

    Example:
        >>> print(regression_report([1.0, 2.0, 4.0], [1.0, 3.0, 5.0], baseline=2.0))
                  R2    RMSE     MAE  baseline RMSE  baseline MAE
        target  0.75  0.8165  0.6667          1.915         1.667
        <BLANKLINE>
        residuals   5%  25%  50%  75%  95%
        target     0.1  0.5    1    1    1
        <BLANKLINE>
        nodes  3
    """
    values, truth = as_finite(predicted, "predicted", (1, 2)), as_numbers(target, "target")
    as_finite(np.where(np.isnan(truth), 0.0, truth), "target", (1, 2))
    if values.shape != truth.shape:
        # [n] and [n, 1] would broadcast to [n, n].
        raise ValueError(
            f"predicted has shape {list(values.shape)} and target {list(truth.shape)}: pass both in the same shape"
        )
    values, truth = values.reshape(len(values), -1), truth.reshape(len(truth), -1)
    columns = truth.shape[1]
    target_names = as_names(names, columns, "names", "targets")
    known = ~np.isnan(truth)
    unknown = np.flatnonzero(~known.any(axis=0))
    if len(unknown):
        raise ValueError(
            f"{target_names[unknown[0]]!r} is unknown in all {len(truth)} rows: leave it out, or pass rows that have it"
        )
    constants = np.nanmean(truth, axis=0) if baseline is None else _as_baseline(baseline, columns)
    per_target = tuple(
        _score(target_names[j], values[known[:, j], j], truth[known[:, j], j], float(constants[j]))
        for j in range(columns)
    )
    return RegressionReport(
        nodes=len(values),
        r2=mean_of_defined(scores.r2 for scores in per_target),
        rmse=sum(scores.rmse for scores in per_target) / columns,
        mae=sum(scores.mae for scores in per_target) / columns,
        baseline_rmse=sum(scores.baseline_rmse for scores in per_target) / columns,
        baseline_mae=sum(scores.baseline_mae for scores in per_target) / columns,
        per_target=per_target,
    )


def _score(name: str, predicted: np.ndarray, target: np.ndarray, baseline: float) -> TargetScores:
    residual, from_baseline = target - predicted, target - baseline
    return TargetScores(
        name=name,
        r2=_r2(residual, target),
        rmse=float(np.sqrt(np.mean(residual**2))),
        mae=float(np.abs(residual).mean()),
        baseline=baseline,
        baseline_rmse=float(np.sqrt(np.mean(from_baseline**2))),
        baseline_mae=float(np.abs(from_baseline).mean()),
        residual_quantiles=tuple(np.quantile(residual, RESIDUAL_LEVELS).tolist()),
    )


def _r2(residual: np.ndarray, target: np.ndarray) -> float | None:
    total = ((target - target.mean()) ** 2).sum()
    # min == max is checked because rounding can make the variance of a constant target nonzero.
    if target.min() == target.max() or total == 0:
        return None
    return float(1 - (residual**2).sum() / total)


def _as_baseline(baseline: Any, columns: int) -> np.ndarray:
    array = as_numbers(baseline, "baseline")
    if array.shape not in ((), (columns,)) or not np.isfinite(array).all():
        raise ValueError(
            f"baseline must be one finite number, or one for each of {columns} targets, not {baseline!r}: "
            "pass the mean of the training nodes, or None"
        )
    return np.broadcast_to(array, columns)
