"""UniFilter with one recurrence for all channels beside the form of the paper and GPR-GNN.

The memory is measured in a process of its own: ``python -m benchmarks.shared NAME``.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import psutil
import torch

from benchmarks.graphs import ARXIV_SIZE, Case, cases, generated
from benchmarks.memory import _STATUS, _peak
from benchmarks.report import Report, print_table, seconds
from benchmarks.timing import interleaved
from benchmarks.training import _CLEAR, _PEAK
from unifilter import factorize
from unifilter.data import NodeDataset
from unifilter.data.features import pack_features
from unifilter.estimators import fit
from unifilter.methods import Method, Problem, Workspace
from unifilter.methods.gprgnn import GPRGNNMethod
from unifilter.methods.uni_filter import UniFilterMethod
from unifilter.training.trainer import _one_epoch, _validate

# Nodes, edges and features of BlogCatalog, and how many of the features are not zero.
WIDE = "blogcatalog-size"
_WIDE_NODES, _WIDE_EDGES, _WIDE_FEATURES, _FILLED = 5_196, 172_000, 8_189, 0.009
_CLASSES, _HIDDEN, _HOPS, _SKETCH = 6, 64, 10, 32
_MEMORY_EPOCHS = 5
_HIDDEN_LAYERS = 6
_OTHERS = ("squirrel", ARXIV_SIZE)

SHARED, EACH, GPR = "shared", "each column", "GPR-GNN"


def run_shared(repeats: int, report: Report) -> None:
    wide = _wide()
    best = _epochs(wide, repeats, (SHARED, EACH, GPR))
    ratios = [
        ["shared / GPR-GNN", report.at_most(f"{WIDE}: shared epoch / GPR-GNN's", best[SHARED] / best[GPR], 3)],
        ["each / shared", report.at_least(f"{WIDE}: epoch of each column / shared", best[EACH] / best[SHARED], 4)],
        ["sketch / each", _factorizations(wide, repeats, report)],
    ]
    print_table(f"Ratios on {WIDE}", ["ratio", "measured"], ratios)
    _memory(WIDE, report)
    for case in cases(_OTHERS):
        problem = _problem(case)
        best = _epochs(problem, repeats, (SHARED, EACH))
        slower = report.at_most(f"{case.name}: shared epoch / that of each column", best[SHARED] / best[EACH], 1)
        print(f"shared / each column on {case.name}: {slower}")
    _memory(ARXIV_SIZE, report)


def _wide() -> Problem:
    return _problem(generated(_WIDE_NODES, _WIDE_EDGES, _WIDE_FEATURES, name=WIDE), filled=_FILLED)


def _problem(case: Case, filled: float = 1.0) -> Problem:
    """Random classes; of the features a random share, as they are stored."""
    nodes = case.graph.num_nodes
    random = np.random.default_rng(0)
    x: Any = case.x.numpy()
    if filled < 1:
        x = x * (random.random(x.shape) < filled)
    labels = torch.from_numpy(np.arange(nodes) % _CLASSES)
    order = random.permutation(nodes)
    dataset = NodeDataset(case.name, case.graph, pack_features(np.abs(x)), labels)
    return Problem(Workspace(dataset), order[: 6 * nodes // 10], order[6 * nodes // 10 : 8 * nodes // 10])


def _methods() -> dict[str, Method]:
    same: dict[str, Any] = {"hidden_channels": _HIDDEN, "hops": _HOPS, "lr": 0.01, "weight_decay": 5e-4, "dropout": 0.5}
    ours = partial(UniFilterMethod, **same, tau=0.5, homophily=0.3, basis_dropout=0.0, batch_norm=False, num_layers=2)
    return {SHARED: ours(channels="shared"), EACH: ours(), GPR: GPRGNNMethod(**same, features="row")}


def _epochs(problem: Problem, repeats: int, names: tuple[str, ...]) -> dict[str, float]:
    """Seconds of a training step and a validation pass, the best run of each."""
    runs = {name: _epoch(_methods()[name], problem) for name in names}
    for run in runs.values():
        run()
    times = interleaved(runs, repeats)
    nodes, features = problem.dataset.num_nodes, problem.dataset.num_features
    print_table(
        f"One epoch on {problem.dataset.name}: {nodes:,} nodes, {features:,} features, hidden width {_HIDDEN}",
        ["contender", "best", "median"],
        [[name, seconds(timing.best), seconds(timing.median)] for name, timing in times.items()],
    )
    return {name: timing.best for name, timing in times.items()}


def _epoch(method: Method, problem: Problem) -> Callable[[], object]:
    learner, task = method.build(problem), problem.task
    train, val = torch.as_tensor(problem.train), torch.as_tensor(problem.val)
    optimizer = torch.optim.Adam(learner.parameter_groups)

    def run() -> object:
        _one_epoch(learner.model, learner.forward, task, train, optimizer, None)
        return _validate(learner.model, learner.forward, task, val, method.metric)

    return run


def _factorizations(problem: Problem, repeats: int, report: Report) -> str:
    graph, x = problem.workspace.graph(), problem.dataset.features
    runs = {
        SHARED: lambda: factorize(graph, x, _HOPS, channels="shared", sketch=_SKETCH),
        EACH: lambda: factorize(graph, x, _HOPS),
    }
    runs[SHARED]()
    times = interleaved(runs, repeats, at_most={EACH: 2})
    share = 100 * times[SHARED].best / times[EACH].best
    print_table(
        f"Recurrence of {problem.dataset.name}",
        ["contender", "best"],
        [[name, seconds(timing.best)] for name, timing in times.items()],
    )
    return report.at_most(f"{WIDE}: sketch and recurrence / factorization of each column", share, 1, " %")


def _memory(name: str, report: Report) -> None:
    if not (_STATUS.exists() and _CLEAR.exists()):
        print(f"\nMemory of {name}: skipped, this system has no {_STATUS} or no {_CLEAR}")
        return
    command = [sys.executable, "-m", "benchmarks.shared", name]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    used, features, hidden, state = (int(number) for number in result.stdout.split())
    bound = features + _HIDDEN_LAYERS * hidden
    print_table(
        f"Memory of training on {name}, features included",
        ["what", "MB"],
        [
            ["features", f"{features / 1e6:.1f}"],
            ["a hidden layer", f"{hidden / 1e6:.1f}"],
            ["weights, their gradients and the optimizer's moments", f"{state / 1e6:.1f}"],
            ["peak", f"{used / 1e6:.1f}"],
        ],
    )
    beside = report.at_most(
        f"{name}: peak without weights and optimizer / (features + {_HIDDEN_LAYERS} hidden layers)",
        (used - state) / bound,
        1,
    )
    print(f"peak without weights and optimizer / (features + {_HIDDEN_LAYERS} hidden layers): {beside}")
    report.figures.setdefault("shared memory", {})[name] = {
        "peak": used,
        "features": features,
        "hidden": hidden,
        "state": state,
    }


def _measure_memory(name: str) -> tuple[int, int, int, int]:
    """Bytes at the peak of training with the filter in every epoch, of the features, a hidden layer, and the state."""
    method = UniFilterMethod.with_settings(
        {**_methods()[SHARED].settings(), "precompute": False, "epochs": _MEMORY_EPOCHS}
    )
    fit(method, _problem(generated(500, 2000, 300), filled=0.05))  # compiled kernels stay in memory
    fit(method, _problem(generated(500, 2000, 100)))
    problem = _wide() if name == WIDE else _problem(next(cases([name])))
    x = problem.dataset.features
    sparse = x.layout != torch.strided
    features = sum(part.nbytes for part in (x.values(), x.col_indices(), x.crow_indices())) if sparse else x.nbytes
    nodes, channels = x.shape
    del x
    before = psutil.Process().memory_info().rss
    _CLEAR.write_text(_PEAK)
    fit(method, problem)
    weights = 4 * _HIDDEN * (channels + _CLASSES)
    return _peak() - int(before) + features, features, 4 * nodes * _HIDDEN, 4 * weights


if __name__ == "__main__":
    print(*_measure_memory(sys.argv[1]))
