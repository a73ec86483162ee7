"""Recognition of the type of a table column from its values: numbers, dates or categories."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

import numpy as np

_Sort = Literal["missing", "number", "date", "truth", "text", "comma", "no date", "other"]
_Read = tuple[_Sort, Any]

_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+),\d+", re.ASCII)
_DATE = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(:\d{2})?(?:\.(\d{1,9}))?\s?(?:Z|([+-])(\d{2}):?(\d{2}))?)?", re.ASCII
)
_MOST_SHOWN = 60  # maximum number of characters of a value in a message
# Text with (almost) only distinct values is a name or a description rather than a category.
_MANY_VALUES, _MANY_SHARE, _FEW_ROWS = 1000, 0.5, 20
_WORDS = {"number": "numbers", "date": "dates", "truth": "true/false", "text": "text"}

# The range of float32. Models compute in float32, and the square of such a number does not overflow float64.
_LARGEST = float(np.finfo(np.float32).max)
# The range of whole years that 64-bit nanoseconds can represent.
_FIRST_DATE, _LAST_DATE = np.datetime64("1678-01-01", "s"), np.datetime64("2262-01-01", "s")


def recognize(values: Any, row_name: Callable[[int], str]) -> np.ndarray:
    """Convert a column to float64, datetime64[ns] or objects (str, bool); NaN, NaT and ``None`` are missing values.

    Text is parsed: ``"12"`` and ``"1,200.50"`` are numbers, ``"2024-03-01"`` is a date (times with a zone are converted
    to UTC), ``"true"`` is a boolean. Empty text is missing. A column without any value becomes NaN.

    Args:
        values: A column of any type.
        row_name: Returns the name of a row for messages.

    Raises:
        ValueError: If the column cannot be converted. The message completes a sentence that starts with the name of the
            column.
    """
    array = values if isinstance(values, np.ndarray) else objects(list(values))
    kind = array.dtype.kind
    if kind in "iuf":
        return _checked_numbers(array.astype(np.float64), row_name)
    if kind == "M":
        return _checked_dates(array, row_name)
    if kind not in "bUO":
        raise ValueError(f"contains {array.dtype}: convert it to numbers, dates or text, or drop the column")
    return _recognize_objects(array.tolist(), row_name)


def as_categories(values: Sequence[Any]) -> np.ndarray:
    """Convert each value to text without parsing it. Booleans and ``None`` (missing) are kept."""
    return objects([value if value is None or isinstance(value, bool) else str(value) for value in values])


def check_categories(values: Collection[str]) -> None:
    """Check that text values repeat, as categories must.

    Args:
        values: One text per row, without missing values.

    Raises:
        ValueError: If (almost) all values are distinct. The message completes a sentence that starts with the name of
            the column.
    """
    found, rows = len(set(values)), len(values)
    if (found > _MANY_VALUES and found > _MANY_SHARE * rows) or found == rows > _FEW_ROWS:
        many = "no value twice" if found == rows else f"{found:,} different values in {rows:,} rows"
        raise ValueError(
            f"has {many}, so its values cannot be categories: drop the column, or encode it as numbers (dates are "
            "recognized in the form 2024-03-31)"
        )


def objects(values: Sequence[Any]) -> np.ndarray:
    """A one-dimensional array of objects, even if the objects are lists."""
    return np.fromiter(values, dtype=object, count=len(values))


def shown(value: Any) -> str:
    """A value for a message, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."


def _recognize_objects(values: list[Any], row_name: Callable[[int], str]) -> np.ndarray:
    known: dict[Any, _Read] = {}
    entries = [_read_once(value, known) for value in values]
    found = Counter(sort for sort, _ in entries if sort != "missing")
    first = {sort: next(row for row, entry in enumerate(entries) if entry[0] == sort) for sort in found}
    for sort, problem in (
        ("other", "is a {type}: a column contains numbers, dates, text or booleans; convert it or drop the column"),
        ("no date", "is not a date in the years 1678 to 2261: correct it, or leave it empty if the date is unknown"),
        ("comma", "has a decimal comma: write a decimal point and no separators, such as 1200.50"),
    ):
        if sort in first:
            row, value = first[sort], values[first[sort]]
            said = problem.format(type=type(value).__name__)
            raise ValueError(f"contains {shown(value)} at {row_name(row)}, which {said}{_in_all(found[sort])}")
    if found.keys() <= {"truth", "text"} and found:
        if "text" in found:
            kept = zip((sort for sort, _ in entries), values, strict=True)
            return objects([None if sort == "missing" else _plain_text(value) for sort, value in kept])
        return objects([value for _, value in entries])
    if len(found) > 1:
        names = " and ".join(_WORDS[sort] for sort, _ in found.most_common())
        rarest = found.most_common()[-1][0]
        raise ValueError(
            f"contains {names}, first {shown(values[first[rarest]])} at {row_name(first[rarest])} ({found[rarest]} of "
            f"{len(values)} rows): correct it, leave it empty if the value is unknown, or make every value text, "
            "such as 'n7' for 7"
        )
    if "date" in found:
        missing = np.datetime64("NaT", "ns")
        return np.array([missing if value is None else value for _, value in entries], dtype="datetime64[ns]")
    numbers = np.array([np.nan if value is None else value for _, value in entries], dtype=np.float64)
    return _checked_numbers(numbers, row_name)


def _read_once(value: Any, known: dict[Any, _Read]) -> _Read:
    """Parse each distinct text once, because columns repeat their values."""
    if not isinstance(value, str):
        return _read_value(value)
    if value not in known:
        known[value] = _read_text(value.strip())
    return known[value]


def _read_text(text: str) -> _Read:
    if not text:
        return "missing", None
    if _PLAIN.fullmatch(text):
        return "number", float(text)
    if _GROUPED.fullmatch(text):
        return "number", float(text.replace(",", ""))
    if _DECIMAL_COMMA.fullmatch(text):
        return "comma", None
    if (parts := _DATE.fullmatch(text)) is not None:
        date = _parse_date(parts)
        return ("no date", None) if date is None else ("date", date)
    if text.lower() in ("true", "false"):
        return "truth", text.lower() == "true"
    return "text", None


def _read_value(value: Any) -> _Read:
    if value is None:
        return "missing", None
    if isinstance(value, (bool, np.bool_)):
        return "truth", bool(value)
    if isinstance(value, (Real, Decimal)):
        number = _as_float(value)
        return ("missing", None) if np.isnan(number) else ("number", number)
    if isinstance(value, np.datetime64):
        return ("missing", None) if np.isnat(value) else _read_text(str(value))
    if isinstance(value, datetime.datetime):
        if value != value:  # pandas' NaT
            return "missing", None
        return _read_text((value.astimezone(datetime.timezone.utc) if value.tzinfo else value).isoformat())
    if isinstance(value, datetime.date):
        return _read_text(value.isoformat())
    return "other", None


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf


def _parse_date(parts: re.Match[str]) -> np.datetime64 | None:
    day, minutes, seconds, fraction, sign, zone_hours, zone_minutes = parts.groups()
    try:
        moment = np.datetime64(f"{day}T{minutes or '00:00'}{seconds or ':00'}", "s")
    except ValueError:
        return None
    if sign is not None:
        offset = np.timedelta64(int(zone_hours) * 60 + int(zone_minutes), "m")
        moment = moment - offset if sign == "+" else moment + offset
    if not _FIRST_DATE <= moment < _LAST_DATE:
        return None
    date: np.datetime64 = moment.astype("datetime64[ns]") + np.timedelta64(int((fraction or "0").ljust(9, "0")), "ns")
    return date


def _checked_numbers(values: np.ndarray, row_name: Callable[[int], str]) -> np.ndarray:
    wrong = np.abs(values) > _LARGEST
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"contains {values[row]} at {row_name(row)}, which is not a finite float32: correct it, leave it empty if "
            f"the value is unknown, or rescale the column{_in_all(int(wrong.sum()))}"
        )
    return values


def _checked_dates(values: np.ndarray, row_name: Callable[[int], str]) -> np.ndarray:
    seconds = values.astype("datetime64[s]")
    wrong = ~np.isnat(seconds) & ((seconds < _FIRST_DATE) | (seconds >= _LAST_DATE))
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"contains {values[row]} at {row_name(row)}, which is not a date in the years 1678 to 2261: correct it, or "
            f"leave it empty if the date is unknown{_in_all(int(wrong.sum()))}"
        )
    return values.astype("datetime64[ns]")


def _plain_text(value: Any) -> str | bool:
    return str(value) if isinstance(value, str) else bool(value)


def _in_all(count: int) -> str:
    return f" ({count} such rows in all)" if count > 1 else ""
