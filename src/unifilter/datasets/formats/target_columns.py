"""Columns with values to predict other than a single class: numbers, or several labels.

``target`` is a number to predict, ``target:NAME`` one of several. ``label:NAME`` says whether a node has the label
NAME: 1 or true, 0 or false, or empty if unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unifilter._internal.problems import Problems
from unifilter.data import TaskName
from unifilter.data.column_values import recognize

_NUMBER, _NUMBERS, _LABELS = "target", "target:", "label:"


@dataclass(frozen=True, eq=False)
class TargetColumns:
    """Targets read from columns.

    Attributes:
        task: ``"regression"`` or ``"multilabel"``.
        targets: ``[num_nodes, targets]``, NaN if unknown.
        names: Names of the targets or labels.
    """

    task: TaskName
    targets: np.ndarray
    names: tuple[str, ...]


def is_target(name: str) -> bool:
    """Whether a column is a target column."""
    return name == _NUMBER or name.startswith((_NUMBERS, _LABELS))


def read_targets(columns: Mapping[str, Any], ids: Sequence[str], where: str) -> TargetColumns | None:
    """The targets among the columns of a table, or ``None``.

    Args:
        columns: Values by column name, one per node.
        ids: Node ids.
        where: Name of the table, for messages.
    """
    named = [name for name in columns if is_target(name)]
    if not named:
        return None
    kinds = {_kind(name) for name in [*named, *(["label"] if "label" in columns else [])]}
    if len(kinds) > 1:
        listed = ", ".join(map(repr, (name for name in columns if is_target(name) or name == "label")))
        raise ValueError(
            f"{where} has {listed}, which belong to different tasks: keep label (a class), or target "
            "columns (numbers), or label: columns (several labels per node), and drop or rename the others"
        )
    task: TaskName = "multilabel" if named[0].startswith(_LABELS) else "regression"
    problems, found = Problems(), []
    for name in named:
        with problems.collect():
            found.append(_numbers(name, columns[name], task, ids, where))
    problems.raise_if_any()
    names = tuple(name.partition(":")[2] or name for name in named)
    return TargetColumns(task, np.stack(found, axis=1), names)


def _kind(name: str) -> str:
    return "label" if name == "label" else "labels" if name.startswith(_LABELS) else "numbers"


def _numbers(name: str, values: Any, task: TaskName, ids: Sequence[str], where: str) -> np.ndarray:
    try:
        column = recognize(values, lambda row: f"node {ids[row]!r}")
    except ValueError as error:
        raise ValueError(f"{where}: column {name!r} {error}") from None
    if column.dtype == object and all(value is None or isinstance(value, bool) for value in column):
        column = np.array([np.nan if value is None else float(value) for value in column])
    if column.dtype.kind != "f":
        what = "1 or 0" if task == "multilabel" else "numbers; a class belongs in a column named label"
        raise ValueError(f"{where}: column {name!r} is a target, but contains text or dates: write {what}")
    if task == "multilabel":
        wrong = np.flatnonzero(~(np.isnan(column) | (column == 0) | (column == 1)))
        if len(wrong):
            raise ValueError(
                f"{where}: column {name!r} contains {column[wrong[0]]:g} at node {ids[wrong[0]]!r}: a label must be 1 "
                "(present), 0 (absent) or empty (unknown)"
            )
    return column
