"""Seconds of an epoch and peak memory of every method: ``python -m benchmarks.all_methods GRAPH METHOD`` for one.

An epoch is a training step and a validation pass with the published settings, where there are any. Each method has a
process of its own, so that its peak is its own too. Memory is what the process grows by from the loaded data on: what
is precomputed counts, the data does not.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import psutil
import torch

from benchmarks.polynomial_models import epoch_of
from benchmarks.report import Report, print_table, seconds
from unifilter.datasets import load_dataset
from unifilter.methods import METHODS, Problem, Workspace

GRAPHS = ("cora", "chameleon", "squirrel")
_EPOCHS = 5
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_RESET_PEAK = "5"


def run_all_methods(report: Report) -> None:
    if not os.environ.get("UNIFILTER_DATA"):
        print("\nAll methods: skipped, set UNIFILTER_DATA to a folder with npz/ and planetoid/ to measure them")
        return
    for graph in GRAPHS:
        rows = []
        for method in METHODS:
            measured = _measured_apart(graph, method)
            rows.append([method, *_said(measured)])
            report.figures.setdefault("all methods", {}).setdefault(graph, {})[method] = measured
        print_table(f"Every method on {graph}", ["method", "prepare", "epoch", "peak memory"], rows)


def _said(measured: dict[str, float]) -> list[str]:
    epoch = seconds(measured["epoch"]) if "epoch" in measured else "no epochs"
    return [seconds(measured["prepare"]), epoch, f"{measured['peak'] / 1e6:.0f} MB"]


def _measured_apart(graph: str, method: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.all_methods", graph, method]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    measured: dict[str, float] = json.loads(result.stdout.splitlines()[-1])
    return measured


def _measure(graph: str, name: str) -> dict[str, float]:
    dataset = load_dataset(graph)
    split = dataset.split("48", 0)
    problem = Problem(Workspace(dataset), split.train, split.val)
    method = METHODS[name].preset(graph, split="48").candidates()[0]
    torch.manual_seed(0)
    before = psutil.Process().memory_info().rss
    _CLEAR.write_text(_RESET_PEAK)
    started = time.perf_counter()
    learner = method.build(problem)
    if learner.solve is not None:
        learner.solve(torch.as_tensor(problem.train))
        return {"prepare": time.perf_counter() - started, "peak": _peak() - before}
    run = epoch_of(learner.model, learner.forward, learner.parameter_groups, problem)
    prepared = time.perf_counter() - started
    times = []
    for _ in range(_EPOCHS):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return {"prepare": prepared, "epoch": statistics.median(times), "peak": _peak() - before}


def _peak() -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    print(json.dumps(_measure(*sys.argv[1:3])))
