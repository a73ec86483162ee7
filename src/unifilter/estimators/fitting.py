"""Train a method on a problem: every candidate of it, the best on the validation nodes kept."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from unifilter.estimators.solving import solve
from unifilter.estimators.trained_model import TrainedModel
from unifilter.methods import Learner, Method, Problem
from unifilter.training import Checkpoint, History, all_scores, train

# At least this many rows are predicted at once, which keeps the cores busy.
_ROWS_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class Fitted:
    """What training came to.

    Attributes:
        model: The trained model.
        history: What happened in training.
        logits: Of every node of the graph it was trained on, ``[num_nodes, classes]``, on the CPU.
        refit: Whether the weights have seen the validation nodes since they were scored.
    """

    model: TrainedModel
    history: History
    logits: Tensor
    refit: bool = False

    @property
    def method(self) -> Method:
        """The method, with every setting that was left open filled in."""
        return self.model.method

    def scores(self, nodes: Tensor, labels: Tensor) -> dict[str, float]:
        """Every metric on some nodes."""
        return all_scores(self.logits[nodes], labels[nodes])


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
    problem.workspace.expect_hops(*(getattr(one, "hops", 0) or 0 for one in candidates))
    seconds = 0.0
    best: tuple[Method, Learner, History] | None = None
    for number, candidate in enumerate(candidates):
        part = f" ({number + 1} of {len(candidates)})" if len(candidates) > 1 else ""
        saved = None if checkpoint is None else Checkpoint(_of_candidate(checkpoint, number), fingerprint)
        learner, history = _train(candidate, problem, label + part, verbose, saved, on_epoch)
        seconds += history.seconds
        if best is None or _rank(history) > _rank(best[2]):
            best = candidate, learner, history
        if history.ended == "stopped":
            break
    if best is None:
        raise ValueError(f"{method.name} has no candidates: let candidates() return at least one")
    best[2].seconds = seconds
    return _finish(method, *best, problem)


def delete_checkpoints(method: Method, checkpoint: Path) -> None:
    """Remove what :func:`fit` of a method has saved."""
    for number in range(len(method.candidates())):
        _of_candidate(checkpoint, number).unlink(missing_ok=True)


def _train(
    method: Method,
    problem: Problem,
    label: str,
    verbose: bool,
    checkpoint: Checkpoint | None,
    on_epoch: Callable[[History], object] | None,
) -> tuple[Learner, History]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(method.seed)
        learner = method.build(problem)
    device, labels = problem.workspace.device, problem.workspace.labels
    train_nodes, val_nodes = (torch.as_tensor(nodes, device=device) for nodes in (problem.train, problem.val))
    if learner.solve is not None:
        history = solve(learner.solve, learner.forward, labels, train_nodes, val_nodes, method.metric, learner.refit)
        if on_epoch is not None:
            on_epoch(history)
        return learner, history
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
    return learner, history


@torch.no_grad()
def _finish(requested: Method, method: Method, learner: Learner, history: History, problem: Problem) -> Fitted:
    """The model on its own, and what it says of every node."""
    if learner.finish is not None:
        learner.finish()
    learner.model.eval()
    every = torch.arange(problem.dataset.num_nodes, device=problem.workspace.device)
    # Not more rows than in training, so that this last pass needs no more memory. A model that computes the whole graph
    # each time does so once.
    rows = max(len(problem.train), _ROWS_AT_ONCE) if learner.row_wise else len(every)
    logits = torch.cat([learner.forward(part) for part in torch.split(every, rows)]).cpu()
    model = TrainedModel(method, learner.shape, learner.model.cpu(), problem.dataset.class_values, requested)
    return Fitted(model, history, logits, learner.refit)


def _of_candidate(checkpoint: Path, number: int) -> Path:
    return checkpoint if number == 0 else checkpoint.with_suffix(f".{number}{checkpoint.suffix}")


def _rank(history: History) -> tuple[float, float]:
    """The score on the validation nodes, and among equals the loss, which tells more where they are few."""
    if history.best_epoch < 0:
        return -math.inf, -math.inf
    return history.best_score, -history.val_loss[history.best_epoch]
