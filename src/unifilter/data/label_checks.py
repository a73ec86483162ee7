"""Validation of the labels and targets of a data set."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.checks import as_labels, consecutive_labels
from unifilter.data.metric import TaskName


def checked_labels(labels: Any, names: tuple[str, ...], nodes: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Class indices and class names. Labels without names may have gaps and be of any size."""
    if not names:
        indices, found = consecutive_labels(labels, nodes)
        in_order = np.array_equal(found, np.arange(len(found)))
        return indices, () if in_order else tuple(map(str, found.tolist()))
    if len(names) > nodes:
        raise ValueError(
            f"there are {len(names)} class_names for {nodes} nodes, more classes than nodes: name only classes that "
            "occur, or leave class_names out"
        )
    indices = as_labels(labels, nodes)
    if len(names) <= indices.max():
        raise ValueError(
            f"node {int(indices.argmax())} is of class {indices.max()}, but there are {len(names)} class_names: name "
            "every class, or leave class_names out"
        )
    return indices, names


def checked_targets(task: TaskName, targets: Any, nodes: int) -> Tensor | None:
    """Float64 ``[nodes, targets]``, finite or NaN. Multilabel targets are 1, 0 or NaN."""
    if (targets is None) != (task == "classification"):
        raise ValueError(
            f"task={task!r} " + ("has no targets: pass them" if targets is None else "takes labels, not targets")
        )
    if targets is None:
        return None
    values = torch.as_tensor(targets).detach().to("cpu", torch.float64)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or values.shape[0] != nodes or values.shape[1] == 0:
        raise ValueError(f"targets must have shape [{nodes}] or [{nodes}, targets], not {list(values.shape)}")
    if torch.isinf(values).any():
        node = int(torch.isinf(values).any(dim=1).nonzero()[0])
        raise ValueError(f"the target of node {node} is infinite: correct it, or set it to NaN if it is unknown")
    if task == "multilabel":
        wrong = ~(torch.isnan(values) | (values == 0) | (values == 1)).all(dim=1)
        if wrong.any():
            node = int(wrong.nonzero()[0])
            raise ValueError(
                f"the labels of node {node} are {values[node].tolist()}: a label must be 1 (present), 0 (absent) or "
                "NaN (unknown)"
            )
    return values
