"""Fit, predict, score, save and load."""

from unifilter.estimators.model_file import StoredModel
from unifilter.estimators.uni_filter_classifier import SweepRow, UniFilterClassifier

__all__ = ["StoredModel", "SweepRow", "UniFilterClassifier"]
