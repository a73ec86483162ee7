"""Node ids as text. Edges and messages refer to nodes by id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unifilter._internal.problems import Problems


def read_ids(values: Sequence[Any], column: str, where: str) -> list[str]:
    """Convert ids to text. Text and integers are accepted; ``None`` means missing and raises an error.

    Args:
        values: One id per row.
        column: The column they are from, for messages.
        where: The table, for messages.
    """
    problems = Problems()
    missing = [row for row, value in enumerate(values, start=1) if value is None]
    if missing:
        problems.add(
            f"{where}: row {missing[0]} has no {column}: fill it in or drop the row{_in_all('rows', len(missing))}"
        )
    decimal = [(row, value) for row, value in enumerate(values, start=1) if isinstance(value, float)]
    if decimal:
        row, value = decimal[0]
        problems.add(
            f"{where}: {column} {value} in row {row} is a decimal number: ids must be text or integers"
            f"{_in_all('rows', len(decimal))}"
        )
    problems.raise_if_any()
    return [str(value) for value in values]


def number_ids(ids: Sequence[str], where: str) -> dict[str, int]:
    """Map each id to its row, counted from 0. Ids must be unique.

    Args:
        ids: One id per row.
        where: The table, for messages.
    """
    number = {name: row for row, name in enumerate(ids)}
    if len(number) < len(ids):
        first = next(row for row, name in enumerate(ids) if number[name] != row)
        raise ValueError(
            f"{where}: id {ids[first]!r} is in rows {first + 1} and {ids.index(ids[first], first + 1) + 1}: ids must "
            f"be unique{_in_all('ids', len(ids) - len(number))}"
        )
    return number


def _in_all(what: str, count: int) -> str:
    return f" ({count} such {what} in all)" if count > 1 else ""
