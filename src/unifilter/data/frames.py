"""pandas DataFrames without importing pandas: what they hold, as arrays and Python objects."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_frame(x: Any) -> bool:
    """Whether ``x`` is a pandas DataFrame, or behaves like one."""
    return all(hasattr(x, name) for name in ("columns", "iloc", "index"))


def names_rows(index: Any) -> bool:
    """Whether the index of a DataFrame is more than a count of its rows, and names each of them."""
    counts = index.name is None and np.array_equal(index.to_numpy(), np.arange(len(index)))
    return not counts and index.nlevels == 1 and bool(index.is_unique)


def series_entries(column: Any) -> list[Any]:
    """The entries of a Series as Python objects, ``None`` where one is missing."""
    return [None if gone else value for value, gone in zip(column.tolist(), column.isna().tolist(), strict=True)]


def series_values(column: Any) -> Any:
    """The entries of a Series as an array of numbers or dates, of everything else as a list of objects."""
    # pandas' nullable numbers and pyarrow's have a kind too, but become objects by themselves.
    kind = getattr(column.dtype, "kind", "O")
    if kind in "iuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    is_plain = isinstance(column.dtype, np.dtype) and kind in "mMc"
    return column.to_numpy() if is_plain else series_entries(column)
