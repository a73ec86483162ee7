"""Processes that end as a crash ends them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any


def killed_at(owner: Any, method: str, number: int, work: Callable[[], object]) -> int:
    """Do some work in a fork of this process that is killed right after a method was called so many times.

    Returns the signal that ended it, 0 where it came to its end.
    """
    child = os.fork()
    if child == 0:
        before, calls = getattr(owner, method), 0

        def counted(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            result = before(*arguments, **options)
            calls += 1
            if calls == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        setattr(owner, method, counted)
        try:
            work()
        finally:
            os._exit(0)
    return os.WTERMSIG(os.waitpid(child, 0)[1])
