"""Fitting without gradients: the model's own solver, then the same record as training leaves."""

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
    """Solve on the training nodes and measure on the validation nodes: a history of one epoch.

    Args:
        solver: Sets the model's weights from some nodes.
        forward: Outputs for some nodes.
        task: The known answers, the loss and the scores.
        train_nodes: Which nodes to learn from.
        val_nodes: Which nodes to measure on.
        metric: What is measured.
        refit: Solve again on all of these nodes afterwards; the measurements stay those from before.
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
