"""One method on one problem, from nothing to scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from unifilter.methods.method import Learner, Method
from unifilter.methods.problem import Problem
from unifilter.methods.solving import solve
from unifilter.training import Checkpoint, History, all_scores, train

# Rows predicted at once: enough to keep the cores busy, few enough that the hidden layers stay small.
_ROWS_AT_ONCE = 65_536


@dataclass
class Fitted:
    """A trained model.

    Attributes:
        method: What was trained, with its hyper-parameters.
        learner: The model and how to ask it.
        history: What happened in training.
    """

    method: Method
    learner: Learner
    history: History

    @torch.no_grad()
    def logits(self, nodes: Tensor) -> Tensor:
        """Logits of some nodes, ``[nodes, classes]``."""
        self.learner.model.eval()
        return torch.cat([self.learner.forward(part) for part in torch.split(nodes, _ROWS_AT_ONCE)])

    def scores(self, nodes: Tensor, labels: Tensor) -> dict[str, float]:
        """Every metric on some nodes."""
        return all_scores(self.logits(nodes), labels[nodes])


def fit(
    method: Method,
    problem: Problem,
    *,
    label: str = "training",
    verbose: bool = False,
    checkpoint: Path | None = None,
    fingerprint: str = "",
    on_epoch: Callable[[History], object] | None = None,
) -> Fitted:
    """Build the method's model for a problem and train it; the same seed gives the same result.

    Args:
        method: The method with its hyper-parameters.
        problem: The data and the nodes.
        label: What the progress bar is called.
        verbose: Whether to show progress.
        checkpoint: A file to save the state to, and to go on from if it is there.
        fingerprint: What the checkpoint must be of.
        on_epoch: Called with the history after every epoch; ``True`` stops there. See :func:`unifilter.training.train`.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(method.seed)
        learner = method.build(problem)
    device, labels = problem.workspace.device, problem.workspace.labels
    train_nodes, val_nodes = (torch.as_tensor(nodes, device=device) for nodes in (problem.train, problem.val))
    if learner.solve is not None:
        history = solve(learner.solve, learner.forward, labels, train_nodes, val_nodes, method.metric, learner.refit)
        if on_epoch is not None:
            on_epoch(history)
        return Fitted(method, learner, history)
    history = train(
        learner.model,
        learner.forward,
        labels,
        train_nodes,
        val_nodes,
        learner.parameter_groups,
        learner.stop,
        method.optimisation(),
        label=label,
        verbose=verbose,
        checkpoint=None if checkpoint is None else Checkpoint(checkpoint, fingerprint),
        on_epoch=on_epoch,
    )
    return Fitted(method, learner, history)
