"""Training: one loop for every model."""

from unifilter.training.checkpoint import Checkpoint
from unifilter.training.metrics import all_scores, score
from unifilter.training.stopping import EitherPatience, LossWindow, Patience, StopRule
from unifilter.training.task import Classification, MultiLabel, Regression, Task
from unifilter.training.trainer import DivergedWarning, History, Optimization, Optimizer, TrainingInterrupted, train

__all__ = [
    "Checkpoint",
    "Classification",
    "DivergedWarning",
    "EitherPatience",
    "History",
    "LossWindow",
    "MultiLabel",
    "Optimization",
    "Optimizer",
    "Patience",
    "Regression",
    "StopRule",
    "Task",
    "TrainingInterrupted",
    "all_scores",
    "score",
    "train",
]
