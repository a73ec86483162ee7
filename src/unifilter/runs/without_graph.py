"""Baseline without the graph: an MLP on the same features and splits, to show whether the graph helps."""

from __future__ import annotations

from typing import Any

import torch

from unifilter.data import Split
from unifilter.estimators import fit
from unifilter.methods import Method, Problem, Workspace, find_method

NAME = "mlp"


def mlp_like(method: Method, task: Any) -> Method:
    """An MLP with its default settings, and the feature scaling, metric and seed of a method.

    Args:
        method: The method to compare with.
        task: The learning task.
    """
    return find_method(NAME).preset(
        None, "none", task=task, metric=method.metric, features=method.features, seed=method.seed
    )


def score_without_graph(
    method: Method, workspace: Workspace, split: Split, weights: Any = None, *, verbose: bool = False
) -> float | None:
    """Test score of an MLP that does not use the graph; ``None`` if the metric is undefined.

    Args:
        method: The MLP, see :func:`mlp_like`.
        workspace: The data.
        split: The split to train and test on.
        weights: Weight of each node in the loss.
        verbose: Whether to show progress.
    """
    problem = Problem(workspace, split.train, split.val, weights)
    label = f"{workspace.dataset.name} MLP without the graph, split {split.index}"
    fitted = fit(method, problem, label=label, verbose=verbose)
    return fitted.scores(torch.as_tensor(split.test)).get(method.metric)
