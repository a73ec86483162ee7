"""Fitting without gradients, by the solver of the model."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import Tensor

from unifilter.data import Metric
from unifilter.training import History, Task


def solve(
    solver: Callable[[Tensor], None],
    forward: Callable[[Tensor], Tensor],
    task: Task,
    train_nodes: Tensor,
    val_nodes: Tensor,
    metric: Metric,
    refit: bool,
) -> History:
    """Solve on the training nodes and score the validation nodes. The history has one epoch.

    Args:
        solver: Sets the model's weights from some nodes.
        forward: Outputs for some nodes.
        task: The targets, loss and metrics.
        train_nodes: Training nodes.
        val_nodes: Validation nodes.
        metric: The metric.
        refit: Solve again on all of these nodes afterwards. The scores in the history are those from before.
    """
    started = time.monotonic()
    solver(train_nodes)
    with torch.no_grad():
        outputs = forward(val_nodes)
        history = History(
            loss=[float(task.loss(forward(train_nodes), train_nodes))],
            val_loss=[float(task.loss(outputs, val_nodes))],
            val_score=[task.score(metric, outputs, val_nodes)],
            best_epoch=0,
            ended="epochs",
        )
    if refit:
        solver(torch.cat([train_nodes, val_nodes]))
    history.seconds = time.monotonic() - started
    return history
