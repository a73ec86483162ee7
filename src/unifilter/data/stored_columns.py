"""Conversion of column encoders to JSON-serializable dictionaries and back, with validation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from unifilter.data.column_encoders import CategoryEncoder, ColumnEncoder, NumberEncoder, UnusedColumn

_Reader = Callable[[Any], bool]


def column_to_dict(encoder: ColumnEncoder) -> dict[str, Any]:
    """The encoder as numbers, strings, booleans and lists."""
    entries = {"kind": encoder.kind, **asdict(encoder)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in entries.items()}


def column_from_dict(entries: Any) -> ColumnEncoder:
    """Restore an encoder from :func:`column_to_dict`.

    Raises:
        ValueError: If the entries are not valid.
    """
    kind = entries.get("kind") if isinstance(entries, Mapping) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"a stored column has the kind {kind!r}, not one of {', '.join(_KINDS)}: the file is damaged")
    make, readers = _KINDS[kind]
    given = {name: value for name, value in entries.items() if name != "kind" or "kind" in readers}
    if given.keys() != readers.keys():
        raise ValueError(
            f"a stored column of kind {kind!r} has the entries {sorted(given)}, not {sorted(readers)}: the file is "
            "damaged"
        )
    for name, is_right in readers.items():
        if not is_right(given[name]):
            raise ValueError(
                f"{name!r} of a stored column of kind {kind!r} is {given[name]!r:.60}: the file is damaged"
            )
    return make(**{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()})


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_deviation(value: Any) -> bool:
    return _is_number(value) and value >= 0


def _are_quantiles(value: Any) -> bool:
    if not isinstance(value, list) or len(value) == 1 or not all(map(_is_number, value)):
        return False
    return all(low <= high for low, high in pairwise(value))


def _are_values(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len(set(value)) == len(value)


_NUMBER: dict[str, _Reader] = {
    "name": _is_text,
    "kind": _is_text,
    "median": _is_number,
    "missing": _is_flag,
    "mean": _is_number,
    "deviation": _is_deviation,
    "quantiles": _are_quantiles,
}
_CATEGORY: dict[str, _Reader] = {
    "name": _is_text,
    "categories": _are_values,
    "rare": _are_values,
    "missing": _is_flag,
}
_UNUSED: dict[str, _Reader] = {"name": _is_text, "kind": _is_text}

_KINDS: dict[str, tuple[Callable[..., ColumnEncoder], dict[str, _Reader]]] = {
    "number": (NumberEncoder, _NUMBER),
    "date": (NumberEncoder, _NUMBER),
    "category": (CategoryEncoder, _CATEGORY),
    "missing": (UnusedColumn, _UNUSED),
    "constant": (UnusedColumn, _UNUSED),
    "rare": (UnusedColumn, _UNUSED),
}
