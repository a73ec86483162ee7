"""The confusion matrix as a table that fits a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# More columns than this are hard to read.
_MOST_CLASSES = 12


@dataclass(frozen=True)
class Cell:
    """Number of nodes of a true class that got a predicted class.

    Attributes:
        count: The number of nodes.
        share: The share among the nodes of the true class; 0 if there are none.
        kind: ``"right"``, ``"wrong"``, or ``"mixed"`` for merged classes.
    """

    count: int
    share: float
    kind: str


@dataclass(frozen=True)
class ConfusionTable:
    """A confusion matrix: rows are true classes, columns predicted classes.

    Attributes:
        names: Names of the classes shown. If some are merged, the last name stands for them.
        rows: One list of cells per name.
        others: Number of merged classes.
    """

    names: list[str]
    rows: list[list[Cell]]
    others: int


def confusion_table(confusion: Mapping[str, Any]) -> ConfusionTable:
    """The whole matrix, or the most frequent classes with the others merged."""
    names, counts = confusion["names"], confusion["counts"]
    groups = _groups([sum(row) for row in counts])
    others = len(groups[-1]) if len(groups) < len(names) else 0
    merged = [[sum(counts[i][j] for i in rows for j in columns) for columns in groups] for rows in groups]
    table = []
    for row, numbers in enumerate(merged):
        total = sum(numbers)
        kinds = ["right" if row == column else "wrong" for column in range(len(groups))]
        if others and row == len(groups) - 1:
            kinds[-1] = "mixed"
        table.append([Cell(n, n / total if total else 0.0, kind) for n, kind in zip(numbers, kinds, strict=True)])
    shown = [names[group[0]] for group in groups]
    if others:
        shown[-1] = f"{others} others"
    return ConfusionTable(shown, table, others)


def _groups(sizes: Sequence[int]) -> list[list[int]]:
    """Groups of classes that share a row, in order. A single class is not merged, because that would save nothing."""
    if len(sizes) <= _MOST_CLASSES + 1:
        return [[index] for index in range(len(sizes))]
    ranked = sorted(range(len(sizes)), key=lambda index: -sizes[index])
    kept, rest = sorted(ranked[:_MOST_CLASSES]), sorted(ranked[_MOST_CLASSES:])
    return [*([index] for index in kept), rest]
