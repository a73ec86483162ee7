"""Check that there is enough memory before a computation starts."""

from __future__ import annotations

import re
from typing import Any

import psutil

# Libraries are mapped too, and count.
_PROGRAM_BYTES = 300 << 20
# The rest is left to other programs.
_USABLE_SHARE = 0.9


def check_memory(what: str, num_bytes: float, remedy: str) -> None:
    """Raise an error if a computation needs more memory than is free.

    Args:
        what: What needs the memory, such as ``"h2gcn's two-hop graph of 'web'"``.
        num_bytes: Estimated number of bytes.
        remedy: What the user can do instead.
    """
    free = available_bytes()
    if num_bytes > free:
        raise ValueError(
            f"{what} would need about {said_bytes(num_bytes)}, and {said_bytes(free)} of memory are free: {remedy}"
        )


def check_limit(limit: Any) -> int:
    """A number of bytes from a number, or from text such as ``"4GB"`` or ``"500 MB"``."""
    if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0:
        return limit
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kMGT])(i?)B\s*", limit) if isinstance(limit, str) else None
    size = 0 if found is None else float(found[1]) * (1024 if found[3] else 1000) ** ("kMGT".index(found[2]) + 1)
    if size < 1:
        raise ValueError(f"memory_limit must be a size such as '4GB', or a number of bytes, not {limit!r}")
    return int(size)


def resident_bytes() -> int:
    """Memory that this process has now, without the data that it only maps from files."""
    info = psutil.Process().memory_info()
    return int(info.rss - max(0, getattr(info, "shared", 0) - _PROGRAM_BYTES))


def available_bytes() -> float:
    """Memory that may be used, in bytes."""
    return float(psutil.virtual_memory().available) * _USABLE_SHARE


def said_bytes(num_bytes: float) -> str:
    """Format a number of bytes, such as ``"1.5 GB"``."""
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if num_bytes >= size:
            return f"{num_bytes / size:.1f} {unit}"
    return f"{num_bytes / 1e3:.1f} kB"
