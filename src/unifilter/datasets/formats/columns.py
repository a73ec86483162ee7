"""Columns of a table become features and labels, by one rule for every format that has named columns.

A column of numbers is a feature as it is. A column of text or of true and false becomes one feature for each value that
occurs, in sorted order, 1 where a node has that value. Anything that would need a guess is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from torch import Tensor

from unifilter.data import Split, pack_features
from unifilter.data.splits import check_split

# More values than this are names or free text rather than categories.
MAX_CATEGORIES = 1000


def encode_features(columns: Mapping[str, np.ndarray], ids: Sequence[str], where: str) -> Tensor:
    """Features ``[len(ids), num_features]`` in float32, sparse (CSR) where most of them are zero.

    Args:
        columns: Name and values of each column, a numeric array or one of objects; ``None`` and NaN are missing.
        ids: What the nodes are called, for messages.
        where: What the columns are of, for messages.
    """
    if not columns:
        raise ValueError(
            f"{where} has no feature column: add at least one beside id, label and split, for example one of ones"
        )
    blocks = [_encode(name, values, ids, where) for name, values in columns.items()]
    return pack_features(sp.hstack(blocks, format="csr") if any(map(sp.issparse, blocks)) else np.hstack(blocks))


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
                    f"{where}: the label of node {ids[index]!r} is {text}, but a class is text or a whole number: put "
                    "measured values into classes, or rename the column to use them as a feature"
                )
        whole = {index: int(float(text)) for index, text in known.items() if float(text) != -1}
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


def _encode(name: str, values: np.ndarray, ids: Sequence[str], where: str) -> Any:
    """A dense or sparse block of features from one column."""
    if values.dtype.kind in "iuf":
        missing = np.isnan(values)
    elif values.dtype.kind in "bOU":
        missing = np.array([_is_missing(value) for value in values], dtype=bool)
    else:
        raise ValueError(
            f"{where}: column {name!r} holds {values.dtype}: convert it to numbers or text, or drop the column"
        )
    if missing.any():
        raise ValueError(
            f"{where}: node {ids[int(missing.argmax())]!r} has no value in column {name!r}: fill it in or drop the "
            f"column ({int(missing.sum())} missing in all)"
        )
    if values.dtype.kind == "O" and all(_is_number(value) for value in values):
        values = values.astype(np.float64)
    return _numbers(name, values, ids, where) if values.dtype.kind in "iuf" else _one_hot(name, values, ids, where)


def _numbers(name: str, values: np.ndarray, ids: Sequence[str], where: str) -> np.ndarray:
    with np.errstate(over="ignore"):
        column = values.astype(np.float32)
    wrong = ~np.isfinite(column)
    if wrong.any():
        first = int(wrong.argmax())
        raise ValueError(
            f"{where}: node {ids[first]!r} has {values[first]} in column {name!r}, which is no finite float32: "
            "replace it, rescale or drop the column"
        )
    return column[:, None]


def _one_hot(name: str, values: np.ndarray, ids: Sequence[str], where: str) -> sp.csr_array:
    for index, value in enumerate(values):
        if not isinstance(value, (str, bool, np.bool_)):
            raise ValueError(
                f"{where}: node {ids[index]!r} has {value!r} ({type(value).__name__}) in column {name!r}: a column "
                "holds numbers, or text, or true and false, and nothing else"
            )
    text = np.array([str(value) for value in values], dtype=object)
    numeric = np.array([_number(value) is not None for value in text], dtype=bool)
    if numeric.any() and not numeric.all():
        first = int(numeric.argmin())
        raise ValueError(
            f"{where}: column {name!r} holds numbers and text, first {text[first]!r} at node {ids[first]!r}: "
            "correct it, or write the numbers as text too, such as 'n1'"
        )
    categories, number = np.unique(text, return_inverse=True)
    is_text = isinstance(values[0], str)
    if len(categories) > MAX_CATEGORIES or (is_text and len(categories) == len(text) > 1):
        many = "no value twice" if len(categories) == len(text) else f"{len(categories)} different values"
        raise ValueError(
            f"{where}: text column {name!r} has {many}, which makes no categories (at most {MAX_CATEGORIES}): drop the "
            "column or encode it as numbers"
        )
    rows = np.arange(len(text))
    ones = np.ones(len(text), dtype=np.float32)
    return sp.csr_array((ones, (rows, number)), shape=(len(text), len(categories)))


def _label(value: Any) -> str:
    # A column of whole numbers with gaps arrives as floats: 2.0 is class 2.
    return str(int(value)) if _is_number(value) and float(value) % 1 == 0 else str(value)


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
