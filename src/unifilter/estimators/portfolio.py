"""Train the members of a portfolio one after the other, and find their weights."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from unifilter.data import Metric
from unifilter.estimators.calibration import calibrate
from unifilter.estimators.combining import member_weights, standard_error
from unifilter.estimators.folds import fold_problems
from unifilter.estimators.leaderboard import Leaderboard, LeaderboardRow, ranked
from unifilter.methods import Learner, Method, Problem
from unifilter.methods.auto import AutoMethod, member_names
from unifilter.nn.mixture import mixed
from unifilter.training import History, Task

# Epochs at which a member is stopped early if other members of the same method were clearly better at that epoch.
_RUNGS = (50, 100, 200)
# A member is stopped after this share of the remaining time, because later members may be better.
_SHARE_OF_TIME = 0.5

# Trains a network. Arguments: the member, the data and the nodes, the number of the network, the name of the member,
# and a callback after every epoch.
Trainer = Callable[[Method, Problem, int, str, Callable[[History], bool]], tuple[Learner, History]]


@dataclass(eq=False)
class Trained:
    """A trained member: one network per fold.

    Attributes:
        number: Position in the portfolio.
        method: The method.
        learners: The learners with their trained networks.
        outputs: Outputs for the validation nodes of all folds, on the CPU.
        temperature: Temperature, fitted on these outputs.
    """

    number: int
    method: Method
    learners: list[Learner]
    outputs: Tensor
    temperature: float


@dataclass(eq=False)
class Portfolio:
    """A trained portfolio.

    Attributes:
        method: The method, with its members and their weights.
        learner: The mixture.
        history: History of the mixture: one epoch, with the training time of all members.
        leaderboard: Scores and weights of all members.
        val: Validation nodes of all folds.
        outputs: Outputs for these nodes of the networks that were not trained on them, on the CPU.
        refit: Whether other networks were trained on these nodes, which is so with several folds.
    """

    method: AutoMethod
    learner: Learner
    history: History
    leaderboard: Leaderboard
    val: np.ndarray
    outputs: Tensor
    refit: bool


def train_portfolio(
    method: AutoMethod,
    problem: Problem,
    trainer: Trainer,
    on_epoch: Callable[[History], object] | None = None,
) -> Portfolio:
    """Train the members of a portfolio within its time limit, and combine them.

    Args:
        method: The portfolio.
        problem: The data and the nodes.
        trainer: Function that trains a network.
        on_epoch: Called with the history of the current network after every epoch; ``True`` stops all training.
    """
    folds = fold_problems(problem, method.folds_for(problem), method.seed)
    plan = method.portfolio(problem)
    names = member_names(plan)
    rows: dict[int, LeaderboardRow] = {}
    trained: list[Trained] = []
    histories: dict[int, list[History]] = {}
    # Members that the user lists are trained to the end, so that the same model results again.
    rivalry = method.members is None
    spent, stopped = 0.0, False
    for number, member in enumerate(plan):
        row = LeaderboardRow(names[number], member.name, _changed(member))
        left = method.seconds - spent
        if (left <= 0 and trained) or stopped:
            rows[number] = _with(row, note="not started" if stopped else "no time left")
            continue
        share = left if number == len(plan) - 1 else left * _SHARE_OF_TIME
        learners: list[Learner] = []
        histories[number] = []
        note, out_of_time = "", False
        for fold, own in enumerate(folds):
            rivals = [
                histories[other][fold]
                for other in range(number)
                if rivalry and plan[other].name == member.name and len(histories.get(other, [])) > fold
            ]
            rungs = rungs_of(member)
            watch = _Watch(rivals, rungs, share / len(folds), len(own.val), on_epoch)
            started = time.monotonic()
            learner, history = trainer(member, own, number * len(folds) + fold, names[number], watch)
            _check_not_refitted(learner, member)
            # The history of a network that resumed from a checkpoint includes the earlier training time.
            spent += (seconds := max(history.seconds, time.monotonic() - started))
            learners.append(learner)
            histories[number].append(history)
            row = _with(row, seconds=row.seconds + seconds, epochs=row.epochs + history.epochs)
            stopped, out_of_time = watch.asked_to_stop, out_of_time or watch.out_of_time
            if stopped and len(learners) < len(folds):
                if trained:
                    note = "stopped"
                else:  # the only networks there are
                    folds = folds[: len(learners)]
            elif not stopped and behind(history, rivals, len(own.val), rungs):
                note = "behind others of its kind"
            elif history.best_epoch < 0:
                note = "diverged"
            if note or len(learners) == len(folds):
                break
        if not note:
            outputs = torch.cat([_outputs(learner, own.val) for learner, own in zip(learners, folds, strict=True)])
            note = "" if bool(torch.isfinite(outputs).all()) else "diverged"
        if note:
            known = [history.best_score for history in histories[number]]
            rows[number] = _with(row, val_score=_number(float(np.mean(known))), note=note)
            continue
        task, nodes = problem.task.to("cpu"), _held_out(folds)
        temperature = 1.0 if task.name == "regression" else _temperature(task, outputs, nodes)
        trained.append(Trained(number, member, learners, outputs, temperature))
        rows[number] = _with(
            row,
            val_score=_score(task, method.metric, outputs, nodes),
            standard_error=standard_error(outputs, task, nodes, method.metric),
            note="out of time" if out_of_time else "",
        )
    if not trained:
        raise ValueError("no member of the portfolio could be trained: scale the features, or name other members")
    return _combined(method, problem, folds, trained, rows, spent, "stopped" if stopped else "epochs")


def _combined(
    method: AutoMethod,
    problem: Problem,
    folds: Sequence[Problem],
    trained: Sequence[Trained],
    rows: dict[int, LeaderboardRow],
    seconds: float,
    ended: str,
) -> Portfolio:
    task, nodes = problem.task.to("cpu"), _held_out(folds)
    outputs, temperatures = [one.outputs for one in trained], [one.temperature for one in trained]
    if method.weights is not None and len(trained) == len(rows):
        weights = np.array(method.weights)
    else:
        weights = member_weights(outputs, temperatures, task, nodes, method.metric, method.combine)
    kept = np.flatnonzero(weights).tolist()
    for one, weight in zip(trained, weights, strict=True):
        row = rows[one.number]
        rows[one.number] = _with(row, weight=float(weight), note=row.note or ("" if weight else "not needed"))
    members = [trained[index] for index in kept]
    final = method.with_members([one.method for one in members], weights[kept].tolist(), len(folds))
    learner = final.mixture(
        [(own, one.method, network) for one in members for own, network in zip(folds, one.learners, strict=True)]
    )
    per_member = torch.tensor([one.temperature for one in members])
    learner.model.get_buffer("temperatures").copy_(per_member.repeat_interleave(len(folds)))
    # Of each fold, the mixture of the networks that were not trained on it.
    held_out = mixed([one.outputs for one in members], torch.tensor(weights[kept]), per_member, task.name)
    train_nodes = torch.as_tensor(problem.train)
    loss = float(task.loss(_outputs(learner, problem.train), train_nodes))
    score = _score(task, method.metric, held_out, nodes)
    history = History([loss], [float(task.loss(held_out, nodes))], [score], 0, seconds, ended)
    error = standard_error(held_out, task, nodes, method.metric)
    board = Leaderboard(ranked(list(rows.values())), method.metric, score, error)
    return Portfolio(final, learner, history, board, nodes.numpy(), held_out, folds[0] is not problem)


def _held_out(folds: Sequence[Problem]) -> Tensor:
    """The validation nodes of all folds."""
    return torch.as_tensor(np.concatenate([one.val for one in folds]))


@torch.no_grad()
def _outputs(learner: Learner, nodes: np.ndarray) -> Tensor:
    """Outputs of a trained network for some nodes, on the CPU."""
    device = next(learner.model.parameters()).device
    return learner.forward(torch.as_tensor(nodes, device=device)).cpu()


class _Watch:
    """Stops a member at the time limit, or early if other members of the same method are clearly better."""

    def __init__(
        self,
        rivals: Sequence[History],
        rungs: Sequence[int],
        seconds: float,
        val_nodes: int,
        on_epoch: Callable[[History], object] | None,
    ) -> None:
        self.rivals, self.rungs = rivals, rungs
        self.seconds, self.val_nodes, self.on_epoch = seconds, val_nodes, on_epoch
        self.out_of_time = self.asked_to_stop = False

    def __call__(self, history: History) -> bool:
        if self.on_epoch is not None and self.on_epoch(history) is True:
            self.asked_to_stop = True
        self.out_of_time = history.seconds >= self.seconds
        return self.asked_to_stop or self.out_of_time or behind(history, self.rivals, self.val_nodes, self.rungs)


def rungs_of(member: Method) -> list[int]:
    """Epochs at which a member is compared with others: not before it had as many as its patience."""
    patience = member.settings().get("patience", 0)
    return [rung for rung in _RUNGS if rung >= patience]


def behind(history: History, rivals: Sequence[History], val_nodes: int, rungs: Sequence[int] = _RUNGS) -> bool:
    """Whether the best rival was better by more than two standard errors after the same number of epochs.

    Args:
        history: Training history of a member.
        rivals: Training histories of earlier members.
        val_nodes: Number of validation nodes behind the scores.
        rungs: Numbers of epochs at which they are compared.
    """
    for rung in rungs:
        if history.epochs < rung:
            return False
        own = _best_until(history, rung)
        others = [_best_until(rival, rung) for rival in rivals if rival.epochs >= rung]
        # The largest possible standard error of a proportion of n nodes is 0.5 / sqrt(n).
        if others and own < max(others) - 1 / math.sqrt(val_nodes):
            return True
    return False


def _best_until(history: History, epochs: int) -> float:
    known = [score for score in history.val_score[:epochs] if not math.isnan(score)]
    return max(known, default=-math.inf)


def _changed(member: Method) -> dict[str, object]:
    """The settings that differ from the defaults, without settings shared by all members."""
    plain, default = member.plain_settings(), type(member)().plain_settings()
    return {name: value for name, value in plain.items() if value != default[name] and name not in ("metric", "seed")}


def _with(row: LeaderboardRow, **changes: object) -> LeaderboardRow:
    return LeaderboardRow(**{**vars(row), **changes})


def _check_not_refitted(learner: Learner, member: Method) -> None:
    if learner.refit:
        raise ValueError(
            f"{member.name} learns from the validation nodes in the end, which the weights of members are found on: "
            "give it refit=False"
        )


def _temperature(task: Task, outputs: Tensor, nodes: Tensor) -> float:
    everywhere = outputs.new_zeros(len(task.targets), outputs.shape[1])
    everywhere[nodes] = outputs
    return calibrate(task, everywhere, nodes.numpy()).temperature


def _score(task: Task, metric: Metric, outputs: Tensor, nodes: Tensor) -> float:
    try:
        return task.score(metric, outputs, nodes)
    except ValueError:  # such as the ROC AUC of nodes of one class
        return math.nan


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
