"""Detailed report of a trained model on the test nodes of one split."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from unifilter.data import Split
from unifilter.estimators import Calibration, Fitted, report_of
from unifilter.evaluation import prediction_sets, reliability
from unifilter.runs.constant import constant_score

# Error rate of the prediction sets.
SET_ALPHA = 0.1
# Maximum number of points in the chart of predicted against true values.
_MOST_POINTS = 500


def split_report(fitted: Fitted, split: Split) -> dict[str, Any]:
    """The report on the test nodes as plain data, with the score of the constant prediction.

    Args:
        fitted: The trained model.
        split: The split it was trained on.

    Returns:
        The result of :func:`unifilter.estimators.report_of`, and ``constant`` (the score of the constant prediction);
        for classification also ``error_before`` (the calibration error without temperature), ``temperature`` and
        ``sets``, for regression ``points``.
    """
    model, task = fitted.model, fitted.task
    test = torch.as_tensor(split.test)
    report = report_of(model, task, fitted.logits, test, split.train)
    found: dict[str, Any] = {
        "report": report.to_dict(),
        "constant": constant_score(task, model.method.metric, split),
        "nothing_learned": model.nothing_learned,
        "filter_unmoved": model.filter_unmoved,
        "leaderboard": None if model.leaderboard is None else model.leaderboard.to_dict(),
    }
    if model.task == "regression":
        predicted, truth = model.answers(fitted.logits[test]), task.targets[test].numpy()
        chosen = np.random.default_rng(0).permutation(len(test))[:_MOST_POINTS]
        pairs = np.stack([truth[:, 0], predicted.reshape(len(test), -1)[:, 0]], axis=1)[np.sort(chosen)]
        found["points"] = pairs[~np.isnan(pairs).any(axis=1)].tolist()
    if model.task == "classification":
        logits, labels = fitted.logits[test], task.targets[test].numpy()
        found["temperature"] = model.calibration.temperature
        found["error_before"] = reliability(Calibration().probabilities(logits), labels).error
        if len(model.calibration.scores):
            inside = prediction_sets(model.probabilities(logits), model.calibration.scores, SET_ALPHA)
            found["sets"] = {
                "alpha": SET_ALPHA,
                "coverage": float(inside[np.arange(len(labels)), labels].mean()),
                "mean_size": float(inside.sum(axis=1).mean()),
            }
    return found
