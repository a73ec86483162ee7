"""Train methods, and use the trained models: predict, score, save and load."""

from unifilter.estimators.calibration import Calibration
from unifilter.estimators.findings import NothingLearnedWarning
from unifilter.estimators.fitting import Fitted, delete_checkpoints, fit
from unifilter.estimators.model_file import check_storable
from unifilter.estimators.node_classifier import NodeClassifier
from unifilter.estimators.node_estimator import NodeEstimator
from unifilter.estimators.node_regressor import NodeRegressor
from unifilter.estimators.reporting import report_of
from unifilter.estimators.sweeping import SweepRow
from unifilter.estimators.trained_model import TrainedModel
from unifilter.estimators.uni_filter_estimators import UniFilterClassifier, UniFilterRegressor

__all__ = [
    "Calibration",
    "Fitted",
    "NodeClassifier",
    "NodeEstimator",
    "NodeRegressor",
    "NothingLearnedWarning",
    "SweepRow",
    "TrainedModel",
    "UniFilterClassifier",
    "UniFilterRegressor",
    "check_storable",
    "delete_checkpoints",
    "fit",
    "report_of",
]
