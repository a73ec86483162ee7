"""Summaries of the columns of a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unifilter.data.column_encoders import fit_column
from unifilter.data.table import Table


@dataclass(frozen=True)
class ColumnSummary:
    """Summary of one column of a table.

    Attributes:
        name: Name of the column.
        kind: ``"number"``, ``"date"`` or ``"category"``; ``"constant"``, ``"missing"`` or ``"rare"`` for a column
            without information; ``"unusable"`` for a column that cannot be encoded.
        missing: Number of rows without a value.
        about: The range of numbers and dates, the number of categories, or the problem.
    """

    name: str
    kind: str
    missing: int
    about: str


def describe_columns(table: Table) -> tuple[ColumnSummary, ...]:
    """Summarize every column of a table, in order."""
    return tuple(describe_column(name, values) for name, values in table.columns.items())


def describe_column(name: str, values: np.ndarray) -> ColumnSummary:
    """Summarize one column of a :class:`~unifilter.data.Table`."""
    if values.dtype == object:
        gone = np.array([value is None for value in values], dtype=bool)
    else:
        gone = np.isnat(values) if values.dtype.kind == "M" else np.isnan(values)
    present = values[~gone]
    try:
        kind = fit_column(name, values, "auto").kind
    except ValueError as error:
        return ColumnSummary(name, "unusable", int(gone.sum()), str(error))
    return ColumnSummary(name, kind, int(gone.sum()), _about(present) if len(present) else "no value")


def _about(values: np.ndarray) -> str:
    if values.dtype.kind == "f":
        return f"{values.min():g} to {values.max():g}"
    if values.dtype.kind == "M":
        return f"{values.min().astype('datetime64[D]')} to {values.max().astype('datetime64[D]')}"
    count = len({str(value) for value in values})
    return f"{count:,} categor{'y' if count == 1 else 'ies'}"
