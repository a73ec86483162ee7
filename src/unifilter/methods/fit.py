"""One method on one problem, from nothing to scores."""

from __future__ import annotations

import math
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

    Of a method that leaves settings open every candidate is trained, and the best on the validation nodes is kept. The
    time in its history is that of all.

    Args:
        method: The method with its hyper-parameters.
        problem: The data and the nodes.
        label: What the progress bar is called.
        verbose: Whether to show progress.
        checkpoint: A file to save the state to, and to go on from if it is there; further candidates have files of
            their own beside it, see :func:`delete_checkpoints`.
        fingerprint: What the checkpoint must be of.
        on_epoch: Called with the history after every epoch; ``True`` stops there. See :func:`unifilter.training.train`.
    """
    candidates = method.candidates()
    seconds, best = 0.0, None
    for number, candidate in enumerate(candidates):
        part = f" ({number + 1} of {len(candidates)})" if len(candidates) > 1 else ""
        saved = None if checkpoint is None else Checkpoint(_of_candidate(checkpoint, number), fingerprint)
        fitted = _fit_one(candidate, problem, label + part, verbose, saved, on_epoch)
        seconds += fitted.history.seconds
        if best is None or _rank(fitted.history) > _rank(best.history):
            best = fitted
        if fitted.history.ended == "stopped":
            break
    if best is None:
        raise ValueError(f"{method.name} has no candidates: let candidates() return at least one")
    best.history.seconds = seconds
    return best


def delete_checkpoints(method: Method, checkpoint: Path) -> None:
    """Remove what :func:`fit` of a method has saved."""
    for number in range(len(method.candidates())):
        _of_candidate(checkpoint, number).unlink(missing_ok=True)


def _fit_one(
    method: Method,
    problem: Problem,
    label: str,
    verbose: bool,
    checkpoint: Checkpoint | None,
    on_epoch: Callable[[History], object] | None,
) -> Fitted:
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
        checkpoint=checkpoint,
        on_epoch=on_epoch,
    )
    return Fitted(method, learner, history)


def _of_candidate(checkpoint: Path, number: int) -> Path:
    return checkpoint if number == 0 else checkpoint.with_suffix(f".{number}{checkpoint.suffix}")


def _rank(history: History) -> tuple[float, float]:
    """The score on the validation nodes, and among equals the loss, which tells more where they are few."""
    if history.best_epoch < 0:
        return -math.inf, -math.inf
    return history.best_score, -history.val_loss[history.best_epoch]
