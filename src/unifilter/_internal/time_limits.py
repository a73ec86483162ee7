"""Time limits as users write them."""

from __future__ import annotations

import math
import re

_UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def seconds_of(limit: float | str | None) -> float:
    """A time limit in seconds, infinite without a limit.

    Example:
        >>> seconds_of("2min"), seconds_of("1.5h"), seconds_of(90)
        (120.0, 5400.0, 90.0)
    """
    if limit is None:
        return math.inf
    found = None
    if isinstance(limit, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", limit.lower())
        if match and match[2] in _UNITS:
            found = float(match[1]) * _UNITS[match[2]]
    elif isinstance(limit, (int, float)) and not isinstance(limit, bool):
        found = float(limit)
    if found is None or not 0 < found < math.inf:
        raise ValueError(f"time_limit is {limit!r}: pass seconds, or a text such as '90s', '2min' or '1h'")
    return found
