"""Train a method on a problem: every candidate of it, the best on the validation nodes kept."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from unifilter.data import DataWarning, scale_spread
from unifilter.estimators.calibration import Calibration, calibrate
from unifilter.estimators.findings import filter_unmoved, nothing_learned
from unifilter.estimators.solving import solve
from unifilter.estimators.trained_model import TrainedModel, check_outputs
from unifilter.methods import Learner, Method, Problem
from unifilter.training import Checkpoint, History, Regression, Task, train

# At least this many rows are predicted at once, which keeps the cores busy.
_ROWS_AT_ONCE = 1024
# Columns of one unit differ by less: counts of words by a few hundred.
_WIDE_SPREAD = 1000.0


@dataclass(frozen=True, eq=False)
class Fitted:
    """What training came to.

    Attributes:
        model: The trained model.
        history: What happened in training.
        logits: Outputs for every node of the graph it was trained on, ``[num_nodes, outputs]``, on the CPU.
        task: The known answers, on the CPU.
        refit: Whether the weights have seen the validation nodes since they were scored.
    """

    model: TrainedModel
    history: History
    logits: Tensor
    task: Task
    refit: bool = False

    @property
    def method(self) -> Method:
        """The method, with every setting that was left open filled in."""
        return self.model.method

    def scores(self, nodes: Tensor) -> dict[str, float]:
        """Every metric on some nodes."""
        return self.task.scores(self.logits[nodes], nodes)


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
    if problem.task.name not in method.tasks:
        raise ValueError(
            f"{method.name} is for {' and '.join(method.tasks)}, not for {problem.task.name}: choose another method"
        )
    problem.task.check_metric(method.metric)
    _warn_of_scales(method, problem)
    candidates = method.candidates()
    problem.workspace.expect_hops(*(getattr(one, "hops", 0) or 0 for one in candidates))
    seconds = 0.0
    best: tuple[Method, Learner, History, bool] | None = None
    for number, candidate in enumerate(candidates):
        part = f" ({number + 1} of {len(candidates)})" if len(candidates) > 1 else ""
        saved = None if checkpoint is None else Checkpoint(_of_candidate(checkpoint, number), fingerprint)
        learner, history, unmoved = _train(candidate, problem, label + part, verbose, saved, on_epoch)
        seconds += history.seconds
        if best is None or _rank(history) > _rank(best[2]):
            best = candidate, learner, history, unmoved
        if history.ended == "stopped":
            break
    if best is None:
        raise ValueError(f"{method.name} has no candidates: let candidates() return at least one")
    best[2].seconds = seconds
    return _finish(method, *best, problem)


def _warn_of_scales(method: Method, problem: Problem) -> None:
    """Columns in different units: those with large numbers drown the others."""
    features = problem.dataset.features if problem.dataset.table is None else None
    if features is None or method.features not in ("raw", "row") or features.layout != torch.strided:
        return
    spread = scale_spread(features)
    if spread > _WIDE_SPREAD:
        warnings.warn(
            f"the standard deviations of the feature columns differ by a factor of {spread:.2g}, and with "
            f'features="{method.features}" the columns with large numbers drown the others: use features="standard"',
            DataWarning,
            stacklevel=3,
        )


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
) -> tuple[Learner, History, bool]:
    """The trained learner, what happened, and whether its filter stayed where it started."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(method.seed)
        learner = method.build(problem)
    device, task = problem.workspace.device, problem.task
    train_nodes, val_nodes = (torch.as_tensor(nodes, device=device) for nodes in (problem.train, problem.val))
    if learner.solve is not None:
        history = solve(learner.solve, learner.forward, task, train_nodes, val_nodes, method.metric, learner.refit)
        if on_epoch is not None:
            on_epoch(history)
        return learner, history, False
    before = _filter_of(learner)
    history = train(
        learner.model,
        learner.forward,
        task,
        train_nodes,
        val_nodes,
        learner.parameter_groups,
        learner.stop,
        method.optimization(),
        label=label,
        verbose=verbose,
        checkpoint=checkpoint,
        on_epoch=on_epoch,
        announce=learner.announce,
    )
    return learner, history, filter_unmoved(before, _filter_of(learner))


def _filter_of(learner: Learner) -> Tensor | None:
    weights = learner.model.hop_weights
    return None if weights is None else weights.detach().cpu().clone()


@torch.no_grad()
def _finish(
    requested: Method, method: Method, learner: Learner, history: History, unmoved: bool, problem: Problem
) -> Fitted:
    """The model on its own, and what it says of every node."""
    if learner.finish is not None:
        learner.finish()
    learner.model.eval()
    every = torch.arange(problem.dataset.num_nodes, device=problem.workspace.device)
    # Not more rows than in training, so that this last pass needs no more memory. A model that computes the whole graph
    # each time does so once.
    rows = max(len(problem.train), _ROWS_AT_ONCE) if learner.row_wise else len(every)
    if learner.everywhere is not None:
        logits = learner.everywhere()
    else:
        logits = torch.cat([learner.forward(part) for part in torch.split(every, rows)]).cpu()
    check_outputs(logits)
    task, names = problem.task.to("cpu"), problem.dataset.class_values
    # Validation nodes that the weights have seen say nothing about how sure the model may be.
    calibration = Calibration() if learner.refit else calibrate(task, logits, problem.val)
    center, scale = (task.center.numpy(), task.scale.numpy()) if isinstance(task, Regression) else (None, None)
    model = TrainedModel(
        method,
        learner.shape,
        learner.model.cpu(),
        names,
        requested,
        preparation=problem.workspace.preparation(method.features),
        task=task.name,
        calibration=calibration,
        target_center=center,
        target_scale=scale,
        nothing_learned=nothing_learned(task, logits, history, method.metric, problem.val, names),
        filter_unmoved=unmoved,
        direction=problem.dataset.graph.direction,
    )
    return Fitted(model, history, logits, task, learner.refit)


def _of_candidate(checkpoint: Path, number: int) -> Path:
    return checkpoint if number == 0 else checkpoint.with_suffix(f".{number}{checkpoint.suffix}")


def _rank(history: History) -> tuple[float, float]:
    """The score on the validation nodes, and among equals the loss, which tells more where they are few."""
    if history.best_epoch < 0:
        return -math.inf, -math.inf
    return history.best_score, -history.val_loss[history.best_epoch]
