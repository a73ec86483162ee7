"""One epoch, and the memory of a training run, against the published way of training and against the bare MLP.

An epoch is a training step and a validation pass, at the published sizes of each data set. The memory is measured in
a process of its own: ``python -m benchmarks.training NAME``.
"""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.graphs import REAL, Case, generated
from benchmarks.machine import Machine
from benchmarks.memory import _STATUS, _peak
from benchmarks.report import Report, print_table, seconds
from benchmarks.timing import interleaved
from unifilter.data import NodeDataset
from unifilter.datasets import load_dataset
from unifilter.estimators import fit
from unifilter.methods import Learner, Problem, Workspace
from unifilter.methods.uni_filter import UniFilterMethod
from unifilter.nn import UniFilter
from unifilter.training.trainer import _one_epoch, _validate

TRAINING_GRAPHS = REAL
# Enough that starting and stopping the clock does not count.
_EPOCHS_PER_RUN = 5
_MEMORY_EPOCHS = 5
# Writing this asks Linux to start the peak of this process again.
_CLEAR, _PEAK = Path("/proc/self/clear_refs"), "5"
# glibc keeps freed arrays of up to 32 MB for later; with this it gives back all of a megabyte or more at once.
_GIVE_BACK_FROM = str(1 << 20)

OURS, PUBLISHED, MLP_ALONE = "ours", "published way", "MLP alone, on filtered rows"


def run_training(case: Case, machine: Machine, repeats: int, report: Report) -> None:
    method, problem = UniFilterMethod.preset(case.name), _problem(load_dataset(case.name))
    learner = method.build(problem)
    epochs = _contenders(method, problem, learner)
    for run in epochs.values():  # compilation and thread pools are not what is measured
        run()
    times = interleaved({name: lambda run=run: _several(run) for name, run in epochs.items()}, repeats)
    best = {name: timing.best / _EPOCHS_PER_RUN for name, timing in times.items()}
    median = {name: timing.median / _EPOCHS_PER_RUN for name, timing in times.items()}
    print_table(
        f"One epoch on {case} ({len(problem.train):,} training and {len(problem.val):,} validation nodes)",
        ["contender", "best", "median"],
        [[name, seconds(best[name]), seconds(median[name])] for name in best],
    )
    reading = _reading(problem, method, machine)
    bound = best[MLP_ALONE] + reading
    rows = [
        [
            "published way / ours",
            report.at_least(f"{case.name}: published epoch / ours", best[PUBLISHED] / best[OURS], 4),
        ],
        [
            f"ours / (MLP + {seconds(reading)} of reading)",
            report.at_most(f"{case.name}: epoch / what cannot be avoided", best[OURS] / bound, 1.5),
        ],
    ]
    print_table(f"Ratios of an epoch on {case.name}", ["ratio", "measured"], rows)
    report.figures.setdefault("training", {})[case.name] = {"best": best, "median": median, "reading": reading}
    _run_memory(case, report)


def _problem(dataset: NodeDataset) -> Problem:
    split = dataset.split("60", 0)
    return Problem(Workspace(dataset), split.train, split.val)


def _contenders(method: UniFilterMethod, problem: Problem, learner: Learner) -> dict[str, Callable[[], object]]:
    """Epochs with the same optimizer on the same sizes; what is built once is built here, outside the clock."""
    model, task = _as_uni_filter(learner.model), problem.task
    train, val = torch.as_tensor(problem.train), torch.as_tensor(problem.val)
    if method.batch_size is not None:
        raise ValueError(f"{method} trains in batches, and the published way is written here for all rows at once")

    def epoch(trained: nn.Module, forward: Callable[[Tensor], Tensor], groups: list[dict]) -> Callable[[], object]:
        optimizer = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[method.optimizer](groups)

        def run() -> object:
            _one_epoch(trained, forward, task, train, optimizer, None)
            return _validate(trained, forward, task, val, method.metric)

        return run

    fact = problem.workspace.factorization(method.features, method.hops, method.self_loops)
    basis = fact.basis("uni", tau=method.tau, homophily=learner.shape.facts["homophily"])
    published = PublishedWay(basis.transpose(0, 1).contiguous(), method, problem.task.num_outputs)
    del basis
    _check_same(published, model, learner, val)

    with torch.no_grad():
        filtered, filtered_val = (
            torch.einsum("nkd,k->nd", published.basis[nodes], model.weights) for nodes in (train, val)
        )
    mlp = copy.deepcopy(model.mlp)

    def on_filtered_rows(nodes: Tensor) -> Tensor:
        # In training with a gradient for the rows, which the filter needs.
        rows = filtered.detach().requires_grad_() if mlp.training else filtered_val
        logits: Tensor = mlp(rows)
        return logits

    groups = [{"params": list(mlp.parameters()), "lr": method.lr, "weight_decay": method.weight_decay}]
    return {
        OURS: epoch(model, learner.forward, learner.parameter_groups),
        PUBLISHED: epoch(published, published, published.parameter_groups(method)),
        MLP_ALONE: epoch(mlp, on_filtered_rows, groups),
    }


class PublishedWay(nn.Module):
    """How the paper's code trains: rows picked out of the whole basis, torch's dropout, a product and a sum."""

    def __init__(self, basis: Tensor, method: UniFilterMethod, num_classes: int) -> None:
        super().__init__()
        self.basis = basis  # [n, hops + 1, channels]
        self.rates = method.basis_dropout, method.dropout
        hops, channels = basis.shape[1] - 1, basis.shape[2]
        # For its layers, norms and initial weights; the forward pass is the one below.
        self.of = UniFilter(
            channels, num_classes, hops, method.hidden_channels, method.num_layers, batch_norm=method.batch_norm
        )

    def forward(self, nodes: Tensor) -> Tensor:
        on_basis, in_mlp = self.rates
        rows = functional.dropout(self.basis[nodes], on_basis, self.training)
        x = (rows * self.of.weights[:, None]).sum(dim=1)
        layers, norms = list(self.of.mlp.layers), [*self.of.mlp.norms, nn.Identity()]
        for index, (layer, norm) in enumerate(zip(layers, norms, strict=True)):
            x = functional.dropout(x, in_mlp, self.training)
            out = norm(layer(x))
            out = out + x if out.shape == x.shape else out
            x = torch.relu(out) if index < len(layers) - 1 else out
        return x

    def parameter_groups(self, method: UniFilterMethod) -> list[dict]:
        return self.of.parameter_groups(method.lr, method.weight_decay, method.filter_lr, method.filter_weight_decay)


def _check_same(published: PublishedWay, model: UniFilter, learner: Learner, nodes: Tensor) -> None:
    """With the same weights and nothing dropped, the two sides of the comparison say the same."""
    published.of.load_state_dict(model.state_dict())
    published.eval()
    model.eval()
    with torch.no_grad():
        theirs, ours = published(nodes), learner.forward(nodes)
    error = torch.linalg.vector_norm(theirs - ours) / torch.linalg.vector_norm(ours)
    if not error < 1e-4:
        raise RuntimeError(f"the published way and ours differ by {error:.1e}: there is nothing to compare")


def _several(epoch: Callable[[], object]) -> None:
    for _ in range(_EPOCHS_PER_RUN):
        epoch()


def _reading(problem: Problem, method: UniFilterMethod, machine: Machine) -> float:
    """Seconds to read the basis rows once forward, once backward and once for validation."""
    vectors = problem.workspace.factorization(method.features, method.hops, method.self_loops).vectors
    row = vectors[:, 0].numel() * vectors.element_size()
    return (2 * len(problem.train) + len(problem.val)) * row / machine.copy_bytes


def _as_uni_filter(model: nn.Module) -> UniFilter:
    if not isinstance(model, UniFilter):
        raise TypeError(f"expected a UniFilter, not a {type(model).__name__}")
    return model


def _run_memory(case: Case, report: Report) -> None:
    if not (_STATUS.exists() and _CLEAR.exists()):
        print(f"\nMemory of training on {case.name}: skipped, this system has no {_STATUS} or no {_CLEAR}")
        return
    used, basis = _memory_in_new_process(case.name, {})
    needed, _ = _memory_in_new_process(case.name, {"MALLOC_MMAP_THRESHOLD_": _GIVE_BACK_FROM})
    print_table(
        f"Memory of training on {case.name}, beyond the factorization",
        ["what", "MB", "share of the basis"],
        [
            ["basis", f"{basis / 1e6:.1f}", ""],
            [
                "peak of training",
                f"{used / 1e6:.1f}",
                report.at_most(f"{case.name}: memory of training / basis", used / basis, 0.3),
            ],
            ["of it in use; the allocator keeps the rest", f"{needed / 1e6:.1f}", f"{needed / basis:.2f}x"],
        ],
    )
    report.figures.setdefault("training memory", {})[case.name] = {"peak": used, "in use": needed, "basis": basis}


def _memory_in_new_process(name: str, environment: dict[str, str]) -> tuple[int, int]:
    command = [sys.executable, "-m", "benchmarks.training", name]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
    used, basis = (int(number) for number in result.stdout.split())
    return used, basis


def _measure_memory(name: str) -> tuple[int, int]:
    """Bytes that a process which holds the factorization grows by, at its largest, while it trains; and the basis'."""
    method = UniFilterMethod.preset(name, epochs=_MEMORY_EPOCHS)
    tiny = generated(500, 2000, 64)  # compiled kernels and thread pools stay in memory and are not work space
    labels = torch.arange(500) % 2
    fit(method, _problem(NodeDataset("tiny", tiny.graph, tiny.x.abs(), labels)))
    problem = _problem(load_dataset(name))
    vectors = problem.workspace.factorization(method.features, method.hops, method.self_loops).vectors
    before = psutil.Process().memory_info().rss
    _CLEAR.write_text(_PEAK)
    fit(method, problem)
    return _peak() - int(before), vectors.numel() * vectors.element_size()


if __name__ == "__main__":
    print(*_measure_memory(sys.argv[1]))
