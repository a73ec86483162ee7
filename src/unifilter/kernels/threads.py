"""Kernels on several threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar

import torch

Part = TypeVar("Part")
# A core processes this many in about a tenth of a millisecond. With less work, waking a thread takes longer.
_NUMBERS_PER_THREAD = 1 << 18
# Fewer, larger parts cost less; more of them keep more threads at work until the end.
_FEWEST_PARTS, _MOST_PARTS, _NUMBERS_PER_PART = 8, 64, 1 << 20


def for_each(work: Callable[[Part], object], parts: Iterable[Part], numbers: int | None = None) -> None:
    """``work(part)`` for every part, on as many threads as torch uses; kernels release the GIL.

    Args:
        work: What is done.
        parts: To what.
        numbers: How many numbers all of it goes through; threads are used only where there is enough for each.
    """
    left = deque(parts)
    threads = min(torch.get_num_threads(), len(left))
    if numbers is not None:
        threads = min(threads, numbers // _NUMBERS_PER_THREAD)

    def run() -> None:
        while True:
            try:
                part = left.popleft()
            except IndexError:
                return
            work(part)

    helpers = [_pool(torch.get_num_threads()).submit(run) for _ in range(threads - 1)]
    try:
        run()
    finally:
        # Arrays must not be freed under a thread that still writes to them.
        for helper in helpers:
            helper.exception()
    for helper in helpers:
        helper.result()


@lru_cache(maxsize=1)
def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads that wait for the next kernel; other ones after ``torch.set_num_threads``."""
    return ThreadPoolExecutor(threads, thread_name_prefix="unifilter")


if hasattr(os, "register_at_fork"):
    # A child process has the pool of its parent but none of its threads.
    os.register_at_fork(after_in_child=_pool.cache_clear)


def parts_of(rows: int, numbers: int) -> list[slice]:
    """Rows in parts of about the same size, more of them where there are more numbers to go through.

    Only for kernels that treat every row alone: sums over rows are taken in groups of their own, whose number is fixed.
    """
    if numbers < 2 * _NUMBERS_PER_THREAD:
        return equal_parts(rows, 1)  # one thread does it all
    return equal_parts(rows, min(max(numbers // _NUMBERS_PER_PART, _FEWEST_PARTS), _MOST_PARTS))


def equal_parts(length: int, count: int) -> list[slice]:
    """Divide a range into non-empty parts of about equal size."""
    bounds = [length * part // count for part in range(count + 1)]
    return [slice(begin, end) for begin, end in pairwise(bounds) if begin < end]
