"""Checks of model outputs and targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# Rows of half-precision probabilities sum to 1 only within this tolerance.
_ROUNDING = 1e-3


def as_finite(values: Any, name: str, dimensions: tuple[int, ...]) -> np.ndarray:
    """A non-empty array of finite numbers as float64.

    Args:
        values: The array.
        name: Its name in messages.
        dimensions: Allowed numbers of dimensions, 1 or 2; the first dimension is the rows.
    """
    array = as_numbers(values, name)
    if array.ndim not in dimensions or array.size == 0:
        shapes = " or ".join({1: "[rows]", 2: "[rows, columns]"}[number] for number in dimensions)
        raise ValueError(f"{name} must be a non-empty array of shape {shapes}: this one has shape {list(array.shape)}")
    wrong = ~np.isfinite(array)
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0])
        raise ValueError(
            f"row {place[0]} of {name} contains {array[place]}: leave out rows that are not finite, or find the cause "
            f"({_rows(wrong)} rows in all)"
        )
    return array


def as_probabilities(values: Any) -> np.ndarray:
    """An array ``[rows, columns]`` of numbers in [0, 1]."""
    array = as_finite(values, "probabilities", (2,))
    wrong = (array < 0) | (array > 1 + _ROUNDING)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"row {row} of probabilities contains {array[row, column]:g}, which is not in [0, 1]: pass probabilities, "
            f"not logits ({_rows(wrong)} rows in all)"
        )
    return array


def as_distributions(values: Any) -> np.ndarray:
    """Class probabilities: every row sums to 1."""
    array = as_probabilities(values)
    total = array.sum(axis=1)
    wrong = np.abs(total - 1) > _ROUNDING
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"row {row} of probabilities sums to {total[row]:g}, not to 1: pass one column per class "
            f"({_rows(wrong)} rows in all)"
        )
    return array


def as_class_indices(labels: Any, rows: int, classes: int) -> np.ndarray:
    """Class indices ``[rows]`` as int64, without unknown labels."""
    array = np.asarray(labels)
    if array.shape != (rows,):
        raise ValueError(f"labels must have one class index per row, shape [{rows}], not {list(array.shape)}")
    if array.dtype.kind not in "iu":
        raise ValueError(f"labels must be whole numbers, not {array.dtype}: encode classes as 0, 1, 2, ...")
    wrong = (array < 0) | (array >= classes)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"the label of row {row} is {array[row]}, but the classes are 0 to {classes - 1}: leave out rows without "
            f"a label and classes without a column ({_rows(wrong)} rows in all)"
        )
    return array.astype(np.int64)


def as_binary_targets(targets: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Zeros and ones of a given shape as float64. NaN means unknown; at least one value must be known."""
    array = as_numbers(targets, "targets")
    if array.shape != shape:
        raise ValueError(f"targets must have shape {list(shape)}, one value for each output, not {list(array.shape)}")
    known = ~np.isnan(array)
    wrong = known & (array != 0) & (array != 1)
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0])
        raise ValueError(
            f"row {place[0]} of targets contains {array[place]:g}: pass 0 or 1, or NaN for unknown values "
            f"({_rows(wrong)} rows in all)"
        )
    if not known.any():
        raise ValueError("all targets are NaN: pass at least one known target")
    return array


def as_names(names: Sequence[str], count: int, argument: str, what: str) -> tuple[str, ...]:
    """One name per column."""
    found = tuple(str(name) for name in names)
    if len(found) != count:
        raise ValueError(f"{argument} has {len(found)} names for {count} {what}: pass one name for each column")
    return found


def as_numbers(values: Any, name: str) -> np.ndarray:
    """An array of any shape as float64. NaN is allowed."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of real numbers: rows of equal length, without text") from None


def _rows(wrong: np.ndarray) -> int:
    return int(wrong.reshape(len(wrong), -1).any(axis=1).sum())
