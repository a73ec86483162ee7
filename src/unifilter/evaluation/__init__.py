"""Evaluation of model outputs: scores with baselines, calibration, and prediction sets with guaranteed coverage.

All functions take arrays with one row per node. They know nothing of graphs or models.
"""

from unifilter.evaluation.calibration import Reliability, fit_temperature, fit_temperature_binary, reliability
from unifilter.evaluation.classification import ClassificationReport, ClassScores, classification_report
from unifilter.evaluation.conformal import conformal_scores, interval_halfwidth, prediction_sets
from unifilter.evaluation.multilabel import LabelScores, MultilabelReport, multilabel_report
from unifilter.evaluation.regression import RESIDUAL_LEVELS, RegressionReport, TargetScores, regression_report

__all__ = [
    "RESIDUAL_LEVELS",
    "ClassScores",
    "ClassificationReport",
    "LabelScores",
    "MultilabelReport",
    "RegressionReport",
    "Reliability",
    "TargetScores",
    "classification_report",
    "conformal_scores",
    "fit_temperature",
    "fit_temperature_binary",
    "interval_halfwidth",
    "multilabel_report",
    "prediction_sets",
    "regression_report",
    "reliability",
]
