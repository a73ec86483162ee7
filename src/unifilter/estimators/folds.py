"""Folds of the training and validation nodes, for portfolios with few validation nodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unifilter.methods import Problem


def fold_problems(problem: Problem, count: int, seed: int) -> list[Problem]:
    """The problem on ``count`` other splits of its training and validation nodes.

    Each node is a validation node once, with two exceptions: a class of one node is always trained on, because no model
    could predict it otherwise, and so is a node of weight 0. Every class is spread evenly over the folds.

    Args:
        problem: The problem with its own split.
        count: Number of folds; 1 keeps the split.
        seed: Random seed of the folds.
    """
    if count == 1:
        return [problem]
    nodes = np.concatenate([problem.train, problem.val])
    if len(nodes) < count:
        raise ValueError(f"{len(nodes)} training and validation nodes cannot have {count} folds: use fewer folds")
    nodes = nodes[np.random.default_rng(seed).permutation(len(nodes))]
    group = np.zeros(len(nodes), np.int64)
    if problem.dataset.targets is None:
        group = problem.dataset.labels.cpu().numpy()[nodes]
    order = np.argsort(group, kind="stable")
    fold = np.empty(len(nodes), np.int64)
    fold[order] = np.arange(len(nodes)) % count
    _, inverse, sizes = np.unique(group, return_inverse=True, return_counts=True)
    always = sizes[inverse] == 1
    if problem.weights is not None:
        always |= problem.weights[nodes] == 0
    found = []
    for index in range(count):
        held_out = (fold == index) & ~always
        found.append(replace(problem, train=np.sort(nodes[~held_out]), val=np.sort(nodes[held_out])))
    return found
