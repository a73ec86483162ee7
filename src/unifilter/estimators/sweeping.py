"""Train a method with every combination of some settings, on one problem."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unifilter.estimators.fitting import Fitted, fit
from unifilter.methods import Method, Problem


@dataclass(frozen=True)
class SweepRow:
    """One point of a sweep.

    Attributes:
        settings: The settings.
        val_score: Validation score.
        epochs: Number of epochs trained.
    """

    settings: dict[str, Any]
    val_score: float
    epochs: int


@dataclass(frozen=True, eq=False)
class Sweep:
    """Every point of a sweep, and the best one with its trained model."""

    rows: list[SweepRow]
    best: SweepRow
    fitted: Fitted


def sweep(method: Method, problem: Problem, values: Mapping[str, list[Any]], verbose: bool) -> Sweep:
    """Train every combination of values.

    Args:
        method: The method, with the settings that are not tried.
        problem: What to train on. Its factorization is computed once, with enough hops for all combinations.
        values: Values to try, by name of the setting.
        verbose: Whether to show progress.
    """
    problem.workspace.expect_hops(0, *values.get("hops", ()))
    rows: list[SweepRow] = []
    best: tuple[Fitted, SweepRow] | None = None
    for combination in itertools.product(*values.values()):
        given = dict(zip(values, combination, strict=True))
        label = " ".join(f"{name}={value}" for name, value in given.items())
        tried = type(method).with_settings({**method.settings(), **given})
        fitted = fit(tried, problem, verbose=verbose, label=label)
        row = SweepRow(given, fitted.history.best_score, fitted.history.epochs)
        rows.append(row)
        # A fit that diverged in the first epoch has no score, and counts as the worst.
        if best is None or row.val_score > best[1].val_score or math.isnan(best[1].val_score):
            best = fitted, row
    if best is None or not values:
        raise ValueError("there is nothing to try: pass at least one value of some setting, sweep(tau=[0.2, 0.5])")
    return Sweep(rows, best[1], best[0])
