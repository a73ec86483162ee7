"""Fitting without gradients: the model's own solver, then the same record as training leaves."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from unifilter.data import Metric
from unifilter.training import History, score


def solve(
    solver: Callable[[Tensor], None],
    forward: Callable[[Tensor], Tensor],
    labels: Tensor,
    train_nodes: Tensor,
    val_nodes: Tensor,
    metric: Metric,
    refit: bool,
) -> History:
    """Solve on the training nodes and measure on the validation nodes: a history of one epoch.

    Args:
        solver: Sets the model's weights from some nodes.
        forward: Logits of some nodes.
        labels: Class index of every node.
        train_nodes: Which nodes to learn from.
        val_nodes: Which nodes to measure on.
        metric: What is measured.
        refit: Solve again on all of these nodes afterwards; the measurements stay those from before.
    """
    started = time.monotonic()
    solver(train_nodes)
    with torch.no_grad():
        logits = forward(val_nodes)
        history = History(
            loss=[float(cross_entropy(forward(train_nodes), labels[train_nodes]))],
            val_loss=[float(cross_entropy(logits, labels[val_nodes]))],
            val_score=[score(metric, logits, labels[val_nodes])],
            best_epoch=0,
            ended="epochs",
        )
    if refit:
        solver(torch.cat([train_nodes, val_nodes]))
    history.seconds = time.monotonic() - started
    return history
