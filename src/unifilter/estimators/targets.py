"""Conversion of regression and multilabel targets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from unifilter.data import is_frame


@dataclass(frozen=True, eq=False)
class Answers:
    """Targets of nodes, converted from user input.

    Attributes:
        fields: Fields of a :class:`unifilter.data.NodeDataset`: ``labels`` and ``class_names``, or ``task`` and
            ``targets``.
        names: Classes, or names of labels or targets, as the user knows them.
        strata: Groups for stratified hold-out: the class of each node, -1 if unknown.
    """

    fields: dict[str, Any]
    names: np.ndarray
    strata: np.ndarray


def numbers_per_node(y: Any, num_nodes: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """A matrix of numbers ``[num_nodes, targets]``, NaN where unknown, and the names of its columns.

    Args:
        y: Numbers, one per node, or a matrix or DataFrame with one row per node.
        num_nodes: Required number of rows.
    """
    name = getattr(y, "name", None)
    names = tuple(map(str, y.columns)) if is_frame(y) else (name,) if isinstance(name, str) else ()
    values = y.detach().cpu().numpy() if isinstance(y, Tensor) else np.asarray(y, dtype=object)
    remedy = "pass numbers, or NaN if unknown; for classes use a classifier"
    return _matrix(values[:, None] if values.ndim == 1 else values, names, num_nodes, remedy)


def labels_per_node(y: Any, num_nodes: int) -> tuple[np.ndarray, tuple[str, ...]] | None:
    """Like :func:`numbers_per_node` for several labels per node; ``None`` if ``y`` has one class per node.

    Args:
        y: The user's labels.
        num_nodes: Required number of rows.
    """
    values = y.detach().cpu().numpy() if isinstance(y, Tensor) else np.asarray(y)
    if values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 1):
        return None
    names = tuple(map(str, y.columns)) if is_frame(y) else ()
    remedy = "several labels per node must be 1, 0, or NaN if unknown"
    matrix, names = _matrix(values, names, num_nodes, remedy)
    wrong = np.argwhere(~(np.isnan(matrix) | (matrix == 0) | (matrix == 1)))
    if len(wrong):
        node, column = wrong[0]
        raise ValueError(
            f"y has {matrix[node, column]:g} at node {node}: {remedy}. To predict numbers use a regressor, "
            "UniFilterRegressor or NodeRegressor"
        )
    return matrix, names


def _matrix(
    values: np.ndarray, names: tuple[str, ...], num_nodes: int, remedy: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    if values.ndim != 2 or len(values) != num_nodes:
        raise ValueError(f"y must have one row per node, {num_nodes} in all, but has shape {list(values.shape)}")
    matrix = np.empty(values.shape, dtype=np.float64)
    for column in range(values.shape[1]):
        for node, value in enumerate(values[:, column].tolist()):
            matrix[node, column] = _number(value, node, remedy)
    return matrix, names or tuple(f"target {index}" for index in range(values.shape[1]))


def _number(value: Any, node: int, remedy: str) -> float:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (value != value) is not False:  # NaN is not equal to itself; comparing pandas' NA gives NA
        return float("nan")
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.inf
    if math.isinf(number):
        raise ValueError(f"y has {value!r} at node {node}, which is not a finite number: {remedy}")
    return number
