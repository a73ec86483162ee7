"""Train a method, keep the trained model, predict, score, save and load."""

from unifilter.estimators.fitting import Fitted, delete_checkpoints, fit
from unifilter.estimators.model_file import check_storable
from unifilter.estimators.node_classifier import NodeClassifier, SweepRow
from unifilter.estimators.trained_model import TrainedModel
from unifilter.estimators.uni_filter_classifier import UniFilterClassifier

__all__ = [
    "Fitted",
    "NodeClassifier",
    "SweepRow",
    "TrainedModel",
    "UniFilterClassifier",
    "check_storable",
    "delete_checkpoints",
    "fit",
]
