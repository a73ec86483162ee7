"""The training loop shared by all models."""

from unifilter.training.checkpoint import Checkpoint
from unifilter.training.distributed import Peers, ProcessLostError
from unifilter.training.metrics import all_scores, score
from unifilter.training.stopping import EitherPatience, LossWindow, Patience, StopRule
from unifilter.training.task import Classification, MultiLabel, Regression, Task
from unifilter.training.trainer import DivergedWarning, History, Optimization, Optimizer, TrainingInterrupted, train
from unifilter.training.training_log import MLflowLog, TensorBoardLog, TrainingLog

__all__ = [
    "Checkpoint",
    "Classification",
    "DivergedWarning",
    "EitherPatience",
    "History",
    "LossWindow",
    "MLflowLog",
    "MultiLabel",
    "Optimization",
    "Optimizer",
    "Patience",
    "Peers",
    "ProcessLostError",
    "Regression",
    "StopRule",
    "Task",
    "TensorBoardLog",
    "TrainingInterrupted",
    "TrainingLog",
    "all_scores",
    "score",
    "train",
]
