"""How the time grows with the graph and with the number of hops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.factorization import HOPS
from benchmarks.graphs import generated
from benchmarks.report import Report, print_table, seconds
from benchmarks.timing import interleaved
from unifilter import factorize

_NODES = (20_000, 40_000, 80_000, 160_000)
_HOPS = (5, 10, 20, 40)
_EDGES_PER_NODE = 7
_CHANNELS = 64
# Linear, with room for caches that a larger graph outgrows.
_LARGEST_EXPONENT = 1.1


def run_growth(repeats: int, report: Report) -> None:
    _against_size(repeats, report)
    for reorthogonalize in (False, None):
        _against_hops(reorthogonalize, repeats, report)


def _against_size(repeats: int, report: Report) -> None:
    cases = {nodes: generated(nodes, _EDGES_PER_NODE * nodes, _CHANNELS) for nodes in _NODES}
    runs = {str(n): lambda case=case: factorize(case.graph, case.x, HOPS) for n, case in cases.items()}
    times = [timing.best for timing in interleaved(runs, repeats).values()]
    sizes = [case.graph.num_nodes + case.graph.num_edges for case in cases.values()]
    _show(f"Time against n + m ({_CHANNELS} features, K = {HOPS})", "n + m", sizes, times, report)


def _against_hops(reorthogonalize: bool | None, repeats: int, report: Report) -> None:
    case = generated(_NODES[1], _EDGES_PER_NODE * _NODES[1], _CHANNELS)
    runs = {
        str(hops): lambda hops=hops: factorize(case.graph, case.x, hops, reorthogonalize=reorthogonalize)
        for hops in _HOPS
    }
    times = [timing.best for timing in interleaved(runs, repeats).values()]
    title = f"Time against K ({case}, reorthogonalize={reorthogonalize})"
    _show(title, f"K, reorthogonalize={reorthogonalize}", _HOPS, times, report)


def _show(title: str, what: str, sizes: Sequence[int], times: Sequence[float], report: Report) -> None:
    exponent = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
    verdict = report.at_most(f"growth with {what}: exponent", exponent, _LARGEST_EXPONENT, unit="")
    rows = [[f"{size:,}", seconds(time), seconds(time / size)] for size, time in zip(sizes, times, strict=True)]
    print_table(title, [what.partition(",")[0], "best", "per unit"], rows)
    print(f"exponent: {verdict}")
    report.figures.setdefault("growth", {})[what] = {"sizes": list(sizes), "seconds": list(times), "exponent": exponent}
