"""The confusion matrix as a table that fits a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# More columns than this are too many to read.
_MOST_CLASSES = 12


@dataclass(frozen=True)
class Cell:
    """How many nodes of a true class got a predicted class.

    Attributes:
        count: So many.
        share: Of the nodes of the true class; 0 where it has none.
        kind: ``"right"``, ``"wrong"``, or ``"mixed"`` where classes are summed up.
    """

    count: int
    share: float
    kind: str


@dataclass(frozen=True)
class ConfusionTable:
    """Rows are true classes, columns predicted ones.

    Attributes:
        names: Of the classes shown, the last one for all others where some are left out.
        rows: A list of cells for each name.
        others: How many classes are summed up.
    """

    names: list[str]
    rows: list[list[Cell]]
    others: int


def confusion_table(confusion: Mapping[str, Any]) -> ConfusionTable:
    """The whole matrix, or its most frequent classes and the sum of the others."""
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
    """Classes that share a row, in their order; one more than fits is still shown, because "1 other" saves nothing."""
    if len(sizes) <= _MOST_CLASSES + 1:
        return [[index] for index in range(len(sizes))]
    ranked = sorted(range(len(sizes)), key=lambda index: -sizes[index])
    kept, rest = sorted(ranked[:_MOST_CLASSES]), sorted(ranked[_MOST_CLASSES:])
    return [*([index] for index in kept), rest]
