"""Train a method on a problem: all of its candidates, keeping the best on the validation nodes."""

from __future__ import annotations

import copy
import hashlib
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from unifilter.data import DataWarning, scale_spread
from unifilter.estimators.calibration import Calibration, calibrate
from unifilter.estimators.findings import filter_unmoved, nothing_learned
from unifilter.estimators.portfolio import train_portfolio
from unifilter.estimators.solving import solve
from unifilter.estimators.trained_model import TrainedModel, check_outputs
from unifilter.methods import Learner, Method, Problem
from unifilter.methods.auto import AutoMethod
from unifilter.training import Checkpoint, History, Regression, StopRule, Task, train
from unifilter.training.distributed import Peers

# Minimum number of rows per prediction batch, which keeps the cores busy.
_ROWS_AT_ONCE = 1024
# Columns with the same unit differ by less: word counts by a few hundred.
_WIDE_SPREAD = 1000.0


@dataclass(frozen=True, eq=False)
class Fitted:
    """The result of training.

    Attributes:
        model: The trained model.
        history: The training history.
        logits: Outputs for every node of the training graph, ``[num_nodes, outputs]``, on the CPU.
        task: The task with its targets, on the CPU.
        refit: Whether the weights were refitted on the validation nodes after these were scored.
    """

    model: TrainedModel
    history: History
    logits: Tensor
    task: Task
    refit: bool = False

    @property
    def method(self) -> Method:
        """The method, with every open setting filled in."""
        return self.model.method

    def scores(self, nodes: Tensor) -> dict[str, float]:
        """All metrics on some nodes."""
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
    """Build a method's model for a problem and train it. The same seed gives the same result.

    If the method leaves settings open, every candidate is trained, and the best on the validation nodes is kept. The
    time in its history is the total of all candidates.

    Args:
        method: The method with its hyperparameters.
        problem: The data and the nodes.
        label: Label of the progress bar.
        verbose: Whether to show progress.
        checkpoint: File to save the state to, and to resume from if it exists. Further candidates have separate files
            beside it, see :func:`delete_checkpoints`.
        fingerprint: Identifies the run in the checkpoint.
        on_epoch: Called with the history after every epoch; ``True`` stops training. See
            :func:`unifilter.training.train`.
    """
    if problem.task.name not in method.tasks:
        raise ValueError(
            f"{method.name} is for {' and '.join(method.tasks)}, not for {problem.task.name}: choose another method"
        )
    problem.task.check_metric(method.metric)
    _warn_of_scales(method, problem)
    if isinstance(method, AutoMethod):
        return _fit_portfolio(method, problem, label, verbose, checkpoint, fingerprint, on_epoch)
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


def _fit_portfolio(
    method: AutoMethod,
    problem: Problem,
    label: str,
    verbose: bool,
    checkpoint: Path | None,
    fingerprint: str,
    on_epoch: Callable[[History], object] | None,
) -> Fitted:
    problem.workspace.expect_hops(*(getattr(one, "hops", 0) or 0 for one in method.portfolio(problem)))
    stop = method.stop_for(problem)

    def trainer(
        member: Method, own: Problem, number: int, name: str, watch: Callable[[History], object]
    ) -> tuple[Learner, History]:
        saved = None if checkpoint is None else Checkpoint(_of_candidate(checkpoint, number), fingerprint)
        learner, history, _ = _train(
            member, own, f"{label}: {name}", verbose, saved, watch, copy.deepcopy(stop), keep_finished=True
        )
        if learner.finish is not None:
            with torch.no_grad():
                learner.finish()
        learner.model.eval()
        return learner, history

    found = train_portfolio(method, problem, trainer, on_epoch)
    held_out = (found.val, found.outputs) if found.refit else None
    fitted = _finish(method, found.method, found.learner, found.history, False, problem, held_out)
    return replace(fitted, model=replace(fitted.model, leaderboard=found.leaderboard), refit=found.refit)


def _warn_of_scales(method: Method, problem: Problem) -> None:
    """Warn if columns have very different scales, so that those with large numbers dominate."""
    features = problem.dataset.features if problem.dataset.table is None else None
    # A portfolio standardizes such columns itself.
    if isinstance(method, AutoMethod) or features is None or method.features not in ("raw", "row"):
        return
    if features.layout != torch.strided:
        return
    spread = scale_spread(features)
    if spread > _WIDE_SPREAD:
        warnings.warn(
            f"the standard deviations of the feature columns differ by a factor of {spread:.2g}, so with "
            f'features="{method.features}" the columns with large numbers dominate: use features="standard"',
            DataWarning,
            stacklevel=3,
        )


def delete_checkpoints(method: Method, checkpoint: Path) -> None:
    """Delete the checkpoints of :func:`fit`."""
    for number in range(method.most_trainings):
        _of_candidate(checkpoint, number).unlink(missing_ok=True)


def _train(
    method: Method,
    problem: Problem,
    label: str,
    verbose: bool,
    checkpoint: Checkpoint | None,
    on_epoch: Callable[[History], object] | None,
    stop: StopRule | None = None,
    keep_finished: bool = False,
) -> tuple[Learner, History, bool]:
    """The trained learner, its history, and whether its filter weights did not change."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(method.seed)
        learner = method.build(problem)
    if Peers.current().several and not learner.row_wise:
        raise ValueError(
            f"{method.name} computes all nodes to learn from any, so several processes have no work to share: train it "
            "in one process, or use a method that reads rows, such as unifilter, sgc, sign or mlp"
        )
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
        learner.stop if stop is None else stop,
        method.optimization(),
        label=label,
        verbose=verbose,
        checkpoint=checkpoint,
        keep_finished=keep_finished,
        on_epoch=on_epoch,
        announce=learner.announce,
    )
    return learner, history, filter_unmoved(before, _filter_of(learner))


def _filter_of(learner: Learner) -> Tensor | None:
    weights = learner.model.hop_weights
    return None if weights is None else weights.detach().cpu().clone()


@torch.no_grad()
def _finish(
    requested: Method,
    method: Method,
    learner: Learner,
    history: History,
    unmoved: bool,
    problem: Problem,
    held_out: tuple[np.ndarray, Tensor] | None = None,
) -> Fitted:
    """The trained model, and its outputs for every node.

    ``held_out`` are nodes, and outputs for them of networks that were not trained on them; by default the validation
    nodes and the outputs of the model.
    """
    if learner.finish is not None:
        learner.finish()
    learner.model.eval()
    every = torch.arange(problem.dataset.num_nodes, device=problem.workspace.device)
    # Batches no larger than in training, so that this pass needs no more memory. A model that processes the whole graph
    # does so once.
    rows = max(len(problem.train), _ROWS_AT_ONCE) if learner.row_wise else len(every)
    if learner.everywhere is not None:
        logits = learner.everywhere()
    else:
        logits = torch.cat([learner.forward(part) for part in torch.split(every, rows)]).cpu()
    check_outputs(logits)
    task, names = problem.task.to("cpu"), problem.dataset.class_values
    val, unseen = problem.val, logits
    if held_out is not None:
        val, unseen = held_out[0], logits.clone()
        unseen[val] = held_out[1].to(logits)
    # Validation nodes used for refitting cannot be used for calibration.
    calibration = Calibration() if learner.refit else calibrate(task, unseen, val)
    center, scale = (task.center.numpy(), task.scale.numpy()) if isinstance(task, Regression) else (None, None)
    model = TrainedModel(
        method,
        learner.shape,
        learner.model.cpu(),
        names,
        requested,
        preparation=problem.workspace.preparation(method.input_scaling),
        task=task.name,
        calibration=calibration,
        target_center=center,
        target_scale=scale,
        nothing_learned=nothing_learned(task, unseen, history, method.metric, val, names),
        filter_unmoved=unmoved,
        direction=problem.dataset.graph.direction,
    )
    return Fitted(model, history, logits, task, learner.refit)


def _of_candidate(checkpoint: Path, number: int) -> Path:
    return checkpoint if number == 0 else checkpoint.with_suffix(f".{number}{checkpoint.suffix}")


def _rank(history: History) -> tuple[float, float]:
    """The validation score, with the validation loss as a tie-breaker, which is more informative for few nodes."""
    if history.best_epoch < 0:
        return -math.inf, -math.inf
    return history.best_score, -history.val_loss[history.best_epoch]


def run_fingerprint(method: Method, problem: Problem) -> str:
    """Identifies a run in its checkpoint: settings, data, nodes and weights."""
    digest = hashlib.sha256(f"{method.settings()} {problem.dataset.checksum}\n".encode())
    for nodes in (problem.train, problem.val):
        digest.update(f"{nodes.tolist()}\n".encode())
    if problem.weights is not None:
        digest.update(problem.weights.astype("<f8").tobytes())
    return digest.hexdigest()
