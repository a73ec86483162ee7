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
from unifilter.estimators.leaderboard import Leaderboard, LeaderboardRow, ranked
from unifilter.methods import Learner, Method, Problem
from unifilter.methods.auto import AutoMethod
from unifilter.training import History, Task

# Epochs at which a member is stopped early if other members of the same method were clearly better at that epoch.
_RUNGS = (50, 100, 200)
# A member is stopped after this share of the remaining time, because later members may be better.
_SHARE_OF_TIME = 0.5

# Trains a member. Arguments: the member, its number, its name, and a callback after every epoch.
Trainer = Callable[[Method, int, str, Callable[[History], bool]], tuple[Learner, History]]


@dataclass(eq=False)
class Trained:
    """A trained member.

    Attributes:
        number: Position in the portfolio.
        method: The method.
        learner: The learner with its trained network.
        history: Training history.
        outputs: Outputs for the validation nodes, on the CPU.
        temperature: Temperature, fitted on the validation nodes.
    """

    number: int
    method: Method
    learner: Learner
    history: History
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
    """

    method: AutoMethod
    learner: Learner
    history: History
    leaderboard: Leaderboard


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
        trainer: Function that trains a member.
        on_epoch: Called with the history of the current member after every epoch; ``True`` stops all training.
    """
    plan = method.portfolio(problem)
    names = _names(plan)
    rows: dict[int, LeaderboardRow] = {}
    trained: list[Trained] = []
    histories: dict[int, History] = {}
    # Members that the user lists are trained to the end, so that the same model results again.
    rivalry = method.members is None
    spent, stopped = 0.0, False
    for number, member in enumerate(plan):
        row = LeaderboardRow(names[number], member.name, _changed(member))
        left = method.seconds - spent
        if (left <= 0 and trained) or stopped:
            rows[number] = _with(row, note="not started" if stopped else "no time left")
            continue
        rivals = [histories[other] for other in histories if rivalry and plan[other].name == member.name]
        last = number == len(plan) - 1
        watch = _Watch(rivals, left if last else left * _SHARE_OF_TIME, len(problem.val), on_epoch)
        started = time.monotonic()
        learner, history = trainer(member, number, names[number], watch)
        _check_not_refitted(learner, member)
        # The history of a member that resumed from a checkpoint includes the earlier training time.
        seconds = max(history.seconds, time.monotonic() - started)
        spent += seconds
        stopped = watch.asked_to_stop
        histories[number] = history
        row = _with(row, seconds=seconds, epochs=history.epochs)
        if not stopped and behind(history, rivals, len(problem.val)):
            rows[number] = _with(row, val_score=_number(history.best_score), note="behind others of its kind")
            continue
        with torch.no_grad():
            outputs = learner.forward(torch.as_tensor(problem.val, device=problem.workspace.device)).cpu()
        if history.best_epoch < 0 or not torch.isfinite(outputs).all():
            rows[number] = _with(row, note="diverged")
            continue
        task, nodes = problem.task.to("cpu"), torch.as_tensor(problem.val)
        temperature = 1.0 if task.name == "regression" else _temperature(task, outputs, nodes)
        trained.append(Trained(number, member, learner, history, outputs, temperature))
        rows[number] = _with(
            row,
            val_score=_score(task, method.metric, outputs, nodes),
            standard_error=standard_error(outputs, task, nodes, method.metric),
            note="out of time" if watch.out_of_time else "",
        )
    if not trained:
        raise ValueError("no member of the portfolio could be trained: scale the features, or name other members")
    return _combined(method, problem, trained, rows, spent, "stopped" if stopped else "epochs")


def _combined(
    method: AutoMethod,
    problem: Problem,
    trained: Sequence[Trained],
    rows: dict[int, LeaderboardRow],
    seconds: float,
    ended: str,
) -> Portfolio:
    task, nodes = problem.task.to("cpu"), torch.as_tensor(problem.val)
    if method.weights is not None and len(trained) == len(rows):
        weights = np.array(method.weights)
    else:
        weights = member_weights(
            [one.outputs for one in trained],
            [one.temperature for one in trained],
            task,
            nodes,
            method.metric,
            method.combine,
        )
    kept = np.flatnonzero(weights).tolist()
    for one, weight in zip(trained, weights, strict=True):
        row = rows[one.number]
        rows[one.number] = _with(row, weight=float(weight), note=row.note or ("" if weight else "not needed"))
    members = [trained[index] for index in kept]
    final = method.with_members([one.method for one in members], weights[kept].tolist())
    learner = final.mixture(problem, [one.method for one in members], [one.learner for one in members])
    temperatures = learner.model.get_buffer("temperatures")
    temperatures.copy_(torch.tensor([one.temperature for one in members]))
    with torch.no_grad():
        device = problem.workspace.device
        outputs = learner.forward(torch.as_tensor(problem.val, device=device)).cpu()
        train_nodes = torch.as_tensor(problem.train)
        loss = float(task.loss(learner.forward(train_nodes.to(device)).cpu(), train_nodes))
    score = _score(task, method.metric, outputs, nodes)
    history = History([loss], [float(task.loss(outputs, nodes))], [score], 0, seconds, ended)
    error = standard_error(outputs, task, nodes, method.metric)
    return Portfolio(final, learner, history, Leaderboard(ranked(list(rows.values())), method.metric, score, error))


class _Watch:
    """Stops a member at the time limit, or early if other members of the same method are clearly better."""

    def __init__(
        self,
        rivals: Sequence[History],
        seconds: float,
        val_nodes: int,
        on_epoch: Callable[[History], object] | None,
    ) -> None:
        self.rivals, self.seconds, self.val_nodes, self.on_epoch = rivals, seconds, val_nodes, on_epoch
        self.out_of_time = self.asked_to_stop = False

    def __call__(self, history: History) -> bool:
        if self.on_epoch is not None and self.on_epoch(history) is True:
            self.asked_to_stop = True
        self.out_of_time = history.seconds >= self.seconds
        return self.asked_to_stop or self.out_of_time or behind(history, self.rivals, self.val_nodes)


def behind(history: History, rivals: Sequence[History], val_nodes: int) -> bool:
    """Whether the best rival was better by more than two standard errors after the same number of epochs.

    Args:
        history: Training history of a member.
        rivals: Training histories of earlier members.
        val_nodes: Number of validation nodes behind the scores.
    """
    for rung in _RUNGS:
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


def _names(plan: Sequence[Method]) -> list[str]:
    """Names of members: the name of the method, with a number if several members share the method."""
    found = []
    for number, member in enumerate(plan):
        before = sum(other.name == member.name for other in plan[:number])
        found.append(f"{member.name} {before + 1}" if before else member.name)
    return found


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
