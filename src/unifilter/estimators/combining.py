"""Weights of the members of a portfolio, from their outputs on nodes outside the training set."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from unifilter.data import Metric
from unifilter.nn.mixture import mixed
from unifilter.training import Task

Rule = Literal["greedy", "mean", "best"]
# Merit of outputs: a larger number is better, and a second number breaks ties.
Merit = Callable[[Tensor], tuple[float, float]]

# Rounds of greedy selection. Before shrinkage, a weight is a multiple of 1 / rounds.
_ROUNDS = 25
# Number of resamples of the validation nodes for a standard error.
_RESAMPLES = 200


def member_weights(
    outputs: Sequence[Tensor], temperatures: Sequence[float], task: Task, nodes: Tensor, metric: Metric, rule: Rule
) -> np.ndarray:
    """Weights with a sum of 1, one per member.

    Args:
        outputs: Outputs of each member for ``nodes``.
        temperatures: Temperature of each member.
        task: The task, with known labels or targets.
        nodes: Nodes to evaluate on.
        metric: Metric to evaluate.
        rule: ``"greedy"``, ``"mean"`` or ``"best"``; see :class:`unifilter.methods.auto.AutoMethod`.
    """
    count = len(outputs)
    if rule == "mean" or count == 1:
        return np.full(count, 1 / count)
    by_score, by_loss = (partial(merit, task=task, nodes=nodes, metric=metric) for merit in (_score, _loss))
    if rule == "best":
        merits = [by_score(one) for one in outputs]
        chosen: np.ndarray = np.eye(count)[merits.index(max(merits))]
        return chosen
    scaled = [one.double() for one in outputs]
    # The score is the goal; the loss is more informative with few nodes. The mean of both did better than either.
    found = [_greedy(scaled, temperatures, task, merit) for merit in (by_score, by_loss)]
    weights: np.ndarray = np.mean(found, axis=0)
    return weights


def _greedy(outputs: Sequence[Tensor], temperatures: Sequence[float], task: Task, merit: Merit) -> np.ndarray:
    """Caruana's selection with replacement: start with the best member, and repeatedly add the most helpful member."""
    count, scale = np.zeros(len(outputs)), torch.tensor(temperatures, dtype=torch.float64)
    kept, kept_merit = np.zeros(len(outputs)), (-math.inf, -math.inf)
    for _ in range(_ROUNDS):
        merits = []
        for index in range(len(outputs)):
            count[index] += 1
            used = np.flatnonzero(count).tolist()
            weights = torch.from_numpy(count[used] / count.sum())
            merits.append(merit(mixed([outputs[one] for one in used], weights, scale[used], task.name)))
            count[index] -= 1
        chosen = merits.index(max(merits))
        count[chosen] += 1
        if merits[chosen] > kept_merit:
            kept, kept_merit = count.copy(), merits[chosen]
    found: np.ndarray = kept / kept.sum() if kept.any() else np.full(len(outputs), 1 / len(outputs))
    return found


def _score(outputs: Tensor, *, task: Task, nodes: Tensor, metric: Metric) -> tuple[float, float]:
    """The score, with the loss to break ties."""
    loss = _loss(outputs, task=task, nodes=nodes, metric=metric)[0]
    try:
        found = task.score(metric, outputs, nodes)
    except ValueError:  # such as the ROC AUC of nodes of one class
        found = loss
    return (found, loss) if math.isfinite(found) and math.isfinite(loss) else (-math.inf, -math.inf)


def _loss(outputs: Tensor, *, task: Task, nodes: Tensor, metric: Metric) -> tuple[float, float]:
    loss = float(task.loss(outputs, nodes))
    return (-loss, 0.0) if math.isfinite(loss) else (-math.inf, -math.inf)


def standard_error(outputs: Tensor, task: Task, nodes: Tensor, metric: Metric) -> float | None:
    """Bootstrap standard error of a score over nodes; ``None`` if too few resamples have a defined score."""
    random, found = np.random.default_rng(0), []
    for _ in range(_RESAMPLES):
        drawn = torch.from_numpy(random.integers(0, len(nodes), len(nodes)))
        try:
            found.append(task.score(metric, outputs[drawn], nodes[drawn]))
        except ValueError:
            continue
    return float(np.std(found, ddof=1)) if len(found) > _RESAMPLES // 2 else None
