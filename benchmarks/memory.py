"""Peak memory of a factorization, measured in a process of its own: ``python -m benchmarks.memory FOLDER``."""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import psutil
import torch

from benchmarks.factorization import HOPS
from benchmarks.graphs import Case, generated
from benchmarks.report import Report, print_table
from unifilter import Graph, factorize

_STATUS = Path("/proc/self/status")


def run_memory(case: Case, report: Report) -> None:
    """The input goes through files, so that the new process has seen nothing but it: no freed memory to reuse."""
    if not _STATUS.exists():
        print(f"\nMemory on {case.name}: skipped, the peak is read from {_STATUS}, which this system does not have")
        return
    with tempfile.TemporaryDirectory() as folder:
        parts = {"row_start": case.graph.row_start, "neighbors": case.graph.neighbors, "x": case.x}
        for name, part in parts.items():
            np.save(Path(folder) / f"{name}.npy", part.numpy())
        command = [sys.executable, "-m", "benchmarks.memory", folder]
        used = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    signal = case.x.numel() * case.x.element_size()
    basis = (HOPS + 1) * signal
    print_table(
        f"Memory on {case} (K = {HOPS})",
        ["what", "MB"],
        [
            ["basis", f"{basis / 1e6:.1f}"],
            ["basis + 2 signals", f"{(basis + 2 * signal) / 1e6:.1f}"],
            ["peak of factorize, input not counted", f"{used / 1e6:.1f}"],
            ["beyond the basis, in signals", f"{(used - basis) / signal:.2f}"],
        ],
    )
    verdict = report.at_most(f"{case.name}: peak memory / (basis + 2 signals)", used / (basis + 2 * signal), 1)
    print(f"peak / (basis + 2 signals): {verdict}")
    report.figures.setdefault("memory", {})[case.name] = {"peak": used, "basis": basis, "signal": signal}


def _measure(folder: Path) -> int:
    """Bytes that the process grew by, at its largest, while it factorized."""
    tiny = generated(500, 2000, 64)
    factorize(tiny.graph, tiny.x, HOPS)  # the compiled kernels stay in memory and are not work space
    row_start, neighbors, x = (
        torch.from_numpy(np.load(folder / f"{name}.npy")) for name in ("row_start", "neighbors", "x")
    )
    graph = Graph(row_start, neighbors, None, self_loops="remove", duplicates="sum")
    gc.collect()
    before, peak_before = psutil.Process().memory_info().rss, _peak()
    factorize(graph, x, HOPS)
    if _peak() <= peak_before:
        raise SystemExit("reading the input took more memory than the factorization: its peak cannot be seen")
    return _peak() - int(before)


def _peak() -> int:
    # Not getrusage: its maximum is inherited from the process that started this one.
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    print(_measure(Path(sys.argv[1])))
