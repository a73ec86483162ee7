"""Does the graph help at all? An MLP on the same features and splits, without the graph."""

from __future__ import annotations

from typing import Any

import torch

from unifilter.data import Split
from unifilter.estimators import fit
from unifilter.methods import Method, Problem, Workspace, find_method

NAME = "mlp"


def mlp_like(method: Method, task: Any) -> Method:
    """An MLP with its defaults, on features scaled as for a method, and measured as it is.

    Args:
        method: The method it is compared with.
        task: What is learned.
    """
    return find_method(NAME).preset(
        None, "none", task=task, metric=method.metric, features=method.features, seed=method.seed
    )


def score_without_graph(
    method: Method, workspace: Workspace, split: Split, weights: Any = None, *, verbose: bool = False
) -> float | None:
    """The score on the test nodes of an MLP that does not see the graph; ``None`` where the metric is not defined.

    Args:
        method: The MLP, see :func:`mlp_like`.
        workspace: The data.
        split: Where to train and test.
        weights: How much each node counts.
        verbose: Whether to show progress.
    """
    problem = Problem(workspace, split.train, split.val, weights)
    label = f"{workspace.dataset.name} MLP without the graph, split {split.index}"
    fitted = fit(method, problem, label=label, verbose=verbose)
    return fitted.scores(torch.as_tensor(split.test)).get(method.metric)
