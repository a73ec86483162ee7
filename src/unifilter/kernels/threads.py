"""Kernels on several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import torch

Part = TypeVar("Part")
# Rows are worked on in so many parts, whatever the number of threads, so that this number cannot change a result.
_PARTS = 8
# A core goes through so many in about a tenth of a millisecond: with less to do, starting a thread takes longer.
_NUMBERS_PER_THREAD = 1 << 18


def for_each(work: Callable[[Part], object], parts: Iterable[Part], numbers: int | None = None) -> None:
    """``work(part)`` for every part, on as many threads as torch uses; kernels release the interpreter.

    Args:
        work: What is done.
        parts: To what.
        numbers: How many numbers all of it goes through; threads are started only where there is enough for each.
    """
    parts = list(parts)
    threads = min(torch.get_num_threads(), len(parts))
    if numbers is not None:
        threads = min(threads, numbers // _NUMBERS_PER_THREAD)
    if threads <= 1:
        for part in parts:
            work(part)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, parts):
            pass


def parts_of(rows: int) -> list[slice]:
    """Rows in parts of about the same size."""
    bounds = [rows * part // _PARTS for part in range(_PARTS + 1)]
    return [slice(begin, end) for begin, end in pairwise(bounds) if begin < end]
