"""How far predicted numbers are from the truth, next to always predicting one number."""

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
    """One target.

    Attributes:
        name: What it is called.
        r2: The coefficient of determination; ``None`` where the target is constant.
        rmse: Root mean squared error.
        mae: Mean absolute error.
        baseline: The number that the baseline always predicts.
        baseline_rmse, baseline_mae: Its errors.
        residual_quantiles: Of target less prediction, at :data:`RESIDUAL_LEVELS`: 5, 25, 50, 75 and 95 %.
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
    """What :func:`regression_report` measures.

    Attributes:
        nodes: How many nodes were scored.
        r2: Mean over the targets that are not constant; ``None`` where all are.
        rmse, mae, baseline_rmse, baseline_mae: Means over the targets; read them target by target where units differ.
        per_target: Target by target.
    """

    nodes: int
    r2: float | None
    rmse: float
    mae: float
    baseline_rmse: float
    baseline_mae: float
    per_target: tuple[TargetScores, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it; what is not defined is ``None``."""
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
    """Errors of predicted numbers.

    Args:
        predicted: ``[n]``, or ``[n, t]`` for several targets.
        target: The truth, of the same shape; NaN is unknown and left out, entry by entry.
        names: What the targets are called.
        baseline: The number that the baseline always predicts, one for all targets or one for each: pass the mean of
            the training nodes. By default the mean of ``target``, which a model cannot know beforehand.

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
    # The first condition: the mean of a constant can differ from it by a rounding error, which is no variation.
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
