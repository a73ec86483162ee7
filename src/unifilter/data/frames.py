"""Conversion of pandas DataFrames to arrays and Python objects, without importing pandas."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_frame(x: Any) -> bool:
    """Whether ``x`` is a pandas DataFrame, or behaves like one."""
    return all(hasattr(x, name) for name in ("columns", "iloc", "index"))


def names_rows(index: Any) -> bool:
    """Whether the index of a DataFrame names its rows, rather than only counting them."""
    counts = index.name is None and np.array_equal(index.to_numpy(), np.arange(len(index)))
    return not counts and index.nlevels == 1 and bool(index.is_unique)


def series_entries(column: Any) -> list[Any]:
    """The entries of a Series as Python objects; ``None`` if missing."""
    return [None if gone else value for value, gone in zip(column.tolist(), column.isna().tolist(), strict=True)]


def series_values(column: Any) -> Any:
    """The entries of a Series: an array of numbers or dates, or a list of other objects."""
    # Nullable pandas and pyarrow types have a kind as well, but would become object arrays.
    kind = getattr(column.dtype, "kind", "O")
    if kind in "iuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    is_plain = isinstance(column.dtype, np.dtype) and kind in "mMc"
    return column.to_numpy() if is_plain else series_entries(column)
