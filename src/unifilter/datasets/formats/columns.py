"""Node columns as a table, labels and a split, by one rule for every format with named columns."""

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
    """Contents of the node columns of a file.

    Attributes:
        labels: Class indices; -1 means unknown.
        class_names: Class names.
        splits: The split ``"given"``, if there is one.
        table: The columns that describe the nodes.
        targets: The values to predict, if the task is not classification.
    """

    labels: np.ndarray
    class_names: tuple[str, ...]
    splits: dict[str, tuple[Split, ...]]
    table: Table
    targets: TargetColumns | None = None

    def answers(self) -> dict[str, Any]:
        """The fields of :class:`~unifilter.data.NodeDataset` for labels and targets."""
        fields: dict[str, Any] = {"labels": torch.from_numpy(self.labels), "class_names": self.class_names}
        if self.targets is None:
            return fields
        named = {"targets": torch.from_numpy(self.targets.targets), "target_names": self.targets.names}
        return {**fields, "task": self.targets.task, **named}


def read_node_columns(
    columns: Mapping[str, Any], ids: Sequence[str] | None, num_nodes: int, where: str, categorical: Collection[str] = ()
) -> NodeColumns:
    """Interpret columns by name: ``label`` is the class, ``split`` is train, val or test.

    The columns of :mod:`~unifilter.datasets.formats.target_columns` are targets. All others describe the nodes.

    Args:
        columns: Values by column name, one per node; ``None`` is missing.
        ids: Node ids; ``None`` if they could not be read because of another mistake in the file.
        num_nodes: Number of nodes.
        where: Name of the table, for messages.
        categorical: Names of columns to treat as categories even if their values look like numbers or dates.

    Raises:
        ValueError: With one line per mistake.
    """
    problems = Problems()
    names = [str(node) for node in range(num_nodes)] if ids is None else ids
    labels = np.full(num_nodes, -1, dtype=np.int64)
    class_names: tuple[str, ...] = ()
    if "label" in columns:
        # If the labels are invalid, the split is checked as if all were known.
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
    """Class indices and class names.

    The classes are the values that occur, in sorted order: numeric order if all are integers, otherwise text order.
    Missing values, and -1 among integers, are unknown labels.
    """
    known = {index: _label(value) for index, value in enumerate(values) if not _is_missing(value)}
    labels = np.full(len(values), -1, dtype=np.int64)
    if all(_number(text) is not None for text in known.values()):
        for index, text in known.items():
            if float(text) % 1 != 0:
                raise ValueError(
                    f"{where}: the label of node {ids[index]!r} is {text}, but a class must be text or an integer: "
                    "name the column target to predict numbers, group them into classes, or rename the column to use "
                    "it as a feature"
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
    """The split described by a column with train, val and test. Nodes without a value are in no part."""
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
    # pandas reads a column of integers with gaps as floats: 2.0 is class 2.
    return str(int(value)) if _is_number(value) and float(value) % 1 == 0 else str(value)


def _whole(text: str) -> int:
    try:
        return int(text)  # exact, while a float could merge two large numbers
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
