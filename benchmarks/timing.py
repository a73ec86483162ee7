"""Wall-clock times of contenders that take turns, so that a disturbance of the machine hits all of them."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Timing:
    """Seconds: the best run says what the code can do, the median how steady the machine was."""

    best: float
    median: float


def interleaved(
    contenders: Mapping[str, Callable[[], Any]], repeats: int, at_most: Mapping[str, int] | None = None
) -> dict[str, Timing]:
    """Runs every contender once per repeat; those named in ``at_most`` drop out after that many runs."""
    limits = dict(at_most or {})
    runs: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, run in contenders.items():
            if len(runs[name]) < limits.get(name, repeats):
                runs[name].append(_seconds(run))
    return {name: Timing(min(times), statistics.median(times)) for name, times in runs.items()}


def _seconds(run: Callable[[], Any]) -> float:
    gc.collect()
    start = time.perf_counter()
    result = run()
    seconds = time.perf_counter() - start
    del result  # giving the memory back is not part of the work
    return seconds
