"""Columns that describe nodes become a table, labels and a split, by one rule for every format with named columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from unifilter._internal.problems import Problems
from unifilter.data import Split, Table
from unifilter.data.splits import check_split
from unifilter.datasets.formats.target_columns import TargetColumns, is_target, read_targets


@dataclass(frozen=True, eq=False)
class NodeColumns:
    """What the columns of a file say about the nodes.

    Attributes:
        labels: Class indices; -1 is unknown.
        class_names: What the classes are called.
        splits: The split ``"given"``, or none.
        table: The columns that describe the nodes.
        targets: What is to be predicted where it is not one class per node.
    """

    labels: np.ndarray
    class_names: tuple[str, ...]
    splits: dict[str, tuple[Split, ...]]
    table: Table
    targets: TargetColumns | None = None

    def answers(self) -> dict[str, Any]:
        """The fields of a :class:`~unifilter.data.NodeDataset` that say what is to be predicted."""
        fields: dict[str, Any] = {"labels": torch.from_numpy(self.labels), "class_names": self.class_names}
        if self.targets is None:
            return fields
        named = {"targets": torch.from_numpy(self.targets.targets), "target_names": self.targets.names}
        return {**fields, "task": self.targets.task, **named}


def read_node_columns(
    columns: Mapping[str, Any], ids: Sequence[str] | None, num_nodes: int, where: str, categorical: Collection[str] = ()
) -> NodeColumns:
    """``label`` is the class, ``split`` is train, val or test, and every other column describes the node, but for what
    :mod:`~unifilter.datasets.formats.target_columns` knows.

    Args:
        columns: Values by name, one per node; ``None`` is missing.
        ids: What the nodes are called; ``None`` where that is not known because of another mistake in the file.
        num_nodes: How many nodes there are.
        where: What the columns are of, for messages.
        categorical: Names of columns that are categories whatever their values look like.

    Raises:
        ValueError: With one line for everything that is wrong.
    """
    problems = Problems()
    names = [str(node) for node in range(num_nodes)] if ids is None else ids
    labels = np.full(num_nodes, -1, dtype=np.int64)
    class_names: tuple[str, ...] = ()
    if "label" in columns:
        # Where the labels are wrong, the split is checked as if all were known.
        labels = np.zeros(num_nodes, dtype=np.int64)
        with problems.collect():
            labels, class_names = encode_labels(columns["label"], names, where)
    targets, known = None, labels
    with problems.collect():
        targets = read_targets(columns, names, where)
        if targets is not None:
            known = np.where(np.isnan(targets.targets).all(axis=1), -1, 0)
    splits = {}
    if "split" in columns:
        with problems.collect():
            splits["given"] = encode_split(columns["split"], known, names, where)
    features = {
        name: values for name, values in columns.items() if name not in ("label", "split") and not is_target(name)
    }
    with problems.collect():
        table = Table.from_columns(features, ids, where, categorical=categorical)
        problems.check_too(table.check_categories)
    problems.raise_if_any()
    return NodeColumns(labels, class_names, splits, table, targets)


def encode_labels(values: Sequence[Any], ids: Sequence[str], where: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Class indices and the names of the classes.

    The values that occur are the classes, in sorted order: as numbers where all are whole numbers, as text otherwise.
    A missing value, and -1 among whole numbers, is an unknown label.
    """
    known = {index: _label(value) for index, value in enumerate(values) if not _is_missing(value)}
    labels = np.full(len(values), -1, dtype=np.int64)
    if all(_number(text) is not None for text in known.values()):
        for index, text in known.items():
            if float(text) % 1 != 0:
                raise ValueError(
                    f"{where}: the label of node {ids[index]!r} is {text}, but a class is text or a whole number: name "
                    "the column target to predict numbers, put them into classes, or rename it to use it as a feature"
                )
        whole = {index: _whole(text) for index, text in known.items() if float(text) != -1}
        classes: list[Any] = sorted(set(whole.values()))
        known = {index: str(value) for index, value in whole.items()}
    else:
        classes = sorted(set(known.values()))
    names = tuple(map(str, classes))
    number = {name: index for index, name in enumerate(names)}
    for index, name in known.items():
        labels[index] = number[name]
    return labels, names


def encode_split(values: Sequence[Any], labels: np.ndarray, ids: Sequence[str], where: str) -> tuple[Split, ...]:
    """The one split that a column with train, val and test describes; nodes without an entry are in none of them."""
    for index, value in enumerate(values):
        if not _is_missing(value) and value not in ("train", "val", "test"):
            raise ValueError(
                f"{where}: the split of node {ids[index]!r} is {value!r}: write train, val, test or nothing"
            )
    column = np.array([None if _is_missing(value) else value for value in values], dtype=object)
    train, val, test = (np.flatnonzero(column == part) for part in ("train", "val", "test"))
    split = Split("given", 0, train, val, test)
    try:
        check_split(split, labels)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    return (split,)


def _label(value: Any) -> str:
    # A column of whole numbers with gaps arrives as floats: 2.0 is class 2.
    return str(int(value)) if _is_number(value) and float(value) % 1 == 0 else str(value)


def _whole(text: str) -> int:
    try:
        return int(text)  # exact, where a float would take two large numbers for one
    except ValueError:
        return int(float(text))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, (float, np.floating)) and bool(np.isnan(value)))
