"""Report of a trained model on nodes with known targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from unifilter.evaluation import (
    ClassificationReport,
    MultilabelReport,
    RegressionReport,
    classification_report,
    multilabel_report,
    regression_report,
)
from unifilter.training import Task

if TYPE_CHECKING:
    from unifilter.estimators.trained_model import TrainedModel

Report = ClassificationReport | MultilabelReport | RegressionReport


def report_of(
    model: TrainedModel, task: Task, logits: Tensor, nodes: Tensor, train: np.ndarray | None = None
) -> Report:
    """All scores on some nodes, with the score of a constant prediction.

    Args:
        model: The trained model.
        task: The task with its targets, on the CPU.
        logits: Outputs of the network for all nodes.
        nodes: The nodes to report on.
        train: The training nodes, which determine the constant prediction. Default: ``nodes``.
    """
    names = [str(name) for name in model.classes]
    targets, known = task.targets[nodes].numpy(), None if train is None else task.targets[train].numpy()
    rows = logits[nodes]
    if model.task == "regression":
        baseline = model.target_center
        predicted = rows.double().numpy() * model.target_scale + model.target_center
        return regression_report(predicted, targets, names, baseline)
    probabilities = model.probabilities(rows)
    if model.task == "multilabel":
        majority = None if known is None else np.nanmean(known, axis=0) > 0.5
        return multilabel_report(probabilities, targets, names, majority)
    majority = None if known is None else int(np.bincount(known[known >= 0]).argmax())
    return classification_report(probabilities, targets, names, majority)
