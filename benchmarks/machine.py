"""What the machine can do at best: the rates that bound any implementation."""

from __future__ import annotations

import os
import platform
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numba
import numpy as np
import psutil
import torch

import unifilter
from benchmarks.timing import interleaved
from unifilter.kernels.compiled.lanes import BYTES, load, store

# Larger than any last-level cache, so that the copy goes to memory.
_COPY_BYTES = 1 << 30
_MATRIX = 2048
# Fits a core's own second-level cache and not its first, read this many times.
_CACHED_BYTES, _CACHED_ROUNDS = 1 << 20, 2000


@dataclass(frozen=True)
class Machine:
    """Rates per second with all threads: bytes read and written by a copy, multiply-adds, bytes read from cache."""

    copy_bytes: float
    multiply_adds: float
    cached_bytes: float

    def __str__(self) -> str:
        memory = psutil.virtual_memory().total / 1e9
        return (
            f"{os.cpu_count()} cores, {torch.get_num_threads()} threads, {memory:.0f} GB, {platform.machine()}; "
            f"python {platform.python_version()}, torch {torch.__version__}, numba {numba.__version__}, "
            f"unifilter {unifilter.__version__}; load {psutil.getloadavg()[0]:.1f}, ours included\n"
            f"copy {self.copy_bytes / 1e9:.1f} GB/s (read + write), cached reads {self.cached_bytes / 1e9:.0f} GB/s, "
            f"float32 multiply-adds {self.multiply_adds / 1e9:.0f} G/s (dense product)"
        )

    def figures(self) -> dict[str, Any]:
        versions = {"torch": torch.__version__, "numba": numba.__version__, "unifilter": unifilter.__version__}
        return {**asdict(self), "cores": os.cpu_count(), "threads": torch.get_num_threads(), **versions}


def measure_machine(repeats: int) -> Machine:
    threads = torch.get_num_threads()
    source, target = torch.ones(2, _COPY_BYTES // 4)
    matrix = torch.ones(_MATRIX, _MATRIX)
    blocks = [np.zeros(_CACHED_BYTES // 4, np.float32) for _ in range(threads)]
    sums = [np.zeros(BYTES // 4, np.float32) for _ in range(threads)]
    _sum_rounds(blocks[0], sums[0], 1)
    with ThreadPoolExecutor(threads) as pool:
        times = interleaved(
            {
                "copy": lambda: target.copy_(source),
                "multiply-add": lambda: matrix @ matrix,
                "cache": lambda: list(pool.map(_sum_rounds, blocks, sums, [_CACHED_ROUNDS] * threads)),
            },
            max(repeats, 5),
        )
    return Machine(
        2 * _COPY_BYTES / times["copy"].best,
        _MATRIX**3 / times["multiply-add"].best,
        threads * _CACHED_BYTES * _CACHED_ROUNDS / times["cache"].best,
    )


@numba.njit(nogil=True, error_model="numpy")
def _sum_rounds(block, result, rounds):  # type: ignore[no-untyped-def]
    lanes = BYTES // block.itemsize
    for _ in range(rounds):
        # Four sums side by side, and carried on from round to round: reading is all there is to wait for.
        first = second = third = fourth = load(result, (0,), BYTES)
        for i in range(0, block.shape[0], 4 * lanes):
            first = first + load(block, (i,), BYTES)
            second = second + load(block, (i + lanes,), BYTES)
            third = third + load(block, (i + 2 * lanes,), BYTES)
            fourth = fourth + load(block, (i + 3 * lanes,), BYTES)
        store(result, (0,), first + second + third + fourth)
