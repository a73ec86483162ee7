"""Refuse work that memory has no room for, before it begins."""

from __future__ import annotations

import psutil

# What is left to everybody else.
_USABLE_SHARE = 0.9


def check_memory(what: str, num_bytes: float, remedy: str) -> None:
    """Refuse what needs more memory than is free.

    Args:
        what: What needs it, such as ``"h2gcn's two-hop graph of 'web'"``.
        num_bytes: An estimate.
        remedy: What to do instead.
    """
    free = available_bytes()
    if num_bytes > free:
        raise ValueError(
            f"{what} would need about {said_bytes(num_bytes)}, and {said_bytes(free)} of memory are free: {remedy}"
        )


def available_bytes() -> float:
    """How much memory can be taken."""
    return float(psutil.virtual_memory().available) * _USABLE_SHARE


def said_bytes(num_bytes: float) -> str:
    """A number of bytes as people say it, such as ``"1.5 GB"``."""
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if num_bytes >= size:
            return f"{num_bytes / size:.1f} {unit}"
    return f"{num_bytes / 1e3:.1f} kB"
