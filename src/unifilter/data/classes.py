"""Conversion of class labels of any type to indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

# Floats represent integers up to here exactly, so that 2.0 can be read as class 2.
_EXACT = 2.0**53
# This many distinct numbers are accepted as classes, however few nodes there are.
_MANY = 50


@dataclass(frozen=True, eq=False)
class Classes:
    """Sorted class labels. Their positions are the class indices that models use.

    Attributes:
        values: The user's labels: numbers or strings.
    """

    values: np.ndarray

    @classmethod
    def encode(cls, y: Any, num_nodes: int) -> tuple[Classes, np.ndarray]:
        """The classes that occur, and the class index of each node; -1 means unknown."""
        raw = _plain_labels(y, num_nodes)
        known = [value for value in raw if value is not None]
        if not known:
            raise ValueError("no node has a class: -1, None and NaN mean unknown, pass a class for some nodes")
        if len({isinstance(value, str) for value in known}) > 1:
            raise ValueError(
                f"some classes are strings and others numbers ({next(v for v in known if isinstance(v, str))!r} and "
                f"{next(v for v in known if not isinstance(v, str))!r}): make them all strings"
            )
        _refuse_numbers(raw)
        classes = cls(np.unique(np.array(known)))
        return classes, classes._indices(raw)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(str(value) for value in self.values)

    def indices_of(self, y: Any, num_nodes: int) -> np.ndarray:
        """The class index of each node, int64; -1 means unknown. A class unknown to the model raises an error."""
        return self._indices(_plain_labels(y, num_nodes))

    def _indices(self, raw: list[Any]) -> np.ndarray:
        position = {value: index for index, value in enumerate(self.values.tolist())}
        position[None] = -1
        for node, value in enumerate(raw):
            if value not in position:
                raise ValueError(
                    f"node {node} is of class {value!r}, which is not a class of the training data: "
                    f"the classes are {', '.join(map(repr, self.values.tolist()))}"
                )
        return np.array([position[value] for value in raw], dtype=np.int64)


def _refuse_numbers(raw: list[Any]) -> None:
    """Reject measured values: otherwise every value would become a class."""
    for node, value in enumerate(raw):
        if isinstance(value, float):
            raise ValueError(
                f"the class of node {node} is {value!r}, a decimal number: classes are strings or integers. To "
                "predict numbers use a regressor, UniFilterRegressor or NodeRegressor"
            )
    numbers = {value for value in raw if isinstance(value, int) and not isinstance(value, bool)}
    labeled = sum(value is not None for value in raw)
    if len(numbers) > max(_MANY, labeled // 2):
        raise ValueError(
            f"y has {len(numbers)} different numbers at {labeled} nodes, too many for classes. To predict numbers use "
            "a regressor, UniFilterRegressor or NodeRegressor; if the numbers are classes, pass them as strings"
        )


def balanced_weights(labels: np.ndarray, num_classes: int) -> np.ndarray:
    """Class weights that give all classes the same total weight over the training nodes, as in scikit-learn.

    Args:
        labels: Class indices of the training nodes.
        num_classes: Number of classes. A class without a training node gets the weight of a class with one.
    """
    counts = np.bincount(labels, minlength=num_classes)
    return np.asarray(len(labels) / (np.count_nonzero(counts) * np.maximum(counts, 1)))


def check_learnable(labels: np.ndarray, names: Sequence[Any]) -> None:
    """Check that there are training nodes of at least two classes.

    Args:
        labels: Class indices of the training nodes.
        names: Class names; may be empty.
    """
    found = np.unique(labels)
    if len(found) == 0:
        raise ValueError("there are no training nodes: train must contain some nodes that have a class")
    if len(found) == 1:
        name = names[found[0]] if len(names) else int(found[0])
        raise ValueError(
            f"all {len(labels)} training nodes are of class {name!r}: a classifier needs nodes of at least two classes"
        )


def _plain_labels(y: Any, num_nodes: int) -> list[Any]:
    """Labels as Python strings and numbers; ``None`` means unknown."""
    if isinstance(y, Tensor):
        y = y.detach().cpu().numpy()
    # np.asarray would convert a list to a single type, and a NaN among strings to the class "nan".
    values = np.array(y, dtype=object) if isinstance(y, (list, tuple)) else np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (num_nodes,):
        raise ValueError(
            f"y must have one class per node, shape [{num_nodes}], not {list(values.shape)}: "
            "use -1 or None for nodes without one"
        )
    return [_plain(node, value) for node, value in enumerate(values.tolist())]


def _plain(node: int, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    # NaN is not equal to itself, and comparing pandas' NA gives NA.
    if value is None or (value != value) is not False or value == -1:
        return None
    if not isinstance(value, (str, bool, int, float)):
        raise ValueError(
            f"the class of node {node} is a {type(value).__name__} ({value!r}): classes are strings or numbers"
        )
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT else value
