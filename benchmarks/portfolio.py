"""What a default costs: whole trainings of ``auto`` beside UniFilter's five settings and one training of GPR-GNN."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import torch

from benchmarks.report import Report, print_table, seconds
from unifilter.data import NodeDataset
from unifilter.data.features import pack_features
from unifilter.datasets import load_dataset
from unifilter.datasets.synthetic import contextual_sbm
from unifilter.estimators import fit
from unifilter.methods import Method, Problem, Workspace, find_method

REAL = ("cora", "chameleon", "squirrel")
AUTO, FAST, UNIFILTER, GPR = "auto", "auto, fast", "unifilter", "gprgnn"
# Nodes, classes, homophily, mean degree and features of Amazon Photo and BlogCatalog, and the share of the features
# that is not zero.
_SIZES = {
    "photo-size": (7_650, 8, 0.83, 31.1, 745, 0.35),
    "blogcatalog-size": (5_196, 6, 0.4, 66.2, 8_189, 0.009),
}


def run_portfolio(report: Report, real: bool) -> None:
    for dataset in _datasets(real):
        split = dataset.split("60", 0)
        times, scores = {}, {}
        for name, method in _methods().items():
            problem = Problem(Workspace(dataset), split.train, split.val)
            started = time.perf_counter()
            fitted = fit(method, problem)
            times[name], scores[name] = time.perf_counter() - started, fitted.history.best_score
        size = f"{dataset.num_nodes:,} nodes, {dataset.graph.num_edges:,} edges, {dataset.num_features:,} features"
        print_table(
            f"Training on {dataset.name}: {size}, one run each",
            ["method", "time", "validation score"],
            [[name, seconds(times[name]), f"{scores[name]:.3f}"] for name in times],
        )
        report.at_most(f"{dataset.name}: auto / unifilter", times[AUTO] / times[UNIFILTER], 3)
        report.at_most(f"{dataset.name}: auto, fast / auto", times[FAST] / times[AUTO], 0.25)


def _methods() -> dict[str, Method]:
    auto, unifilter, gpr = (find_method(name) for name in ("auto", "unifilter", "gprgnn"))
    return {AUTO: auto(), FAST: auto.with_settings({"quality": "fast"}), UNIFILTER: unifilter(), GPR: gpr()}


def _datasets(real: bool) -> Iterator[NodeDataset]:
    if real:
        yield from map(load_dataset, REAL)
    else:
        print(f"\n{', '.join(REAL)}: skipped, set UNIFILTER_DATA to a folder with npz/ and planetoid/ to measure them")
    for name, (nodes, classes, homophily, degree, features, filled) in _SIZES.items():
        yield _generated(name, nodes, classes, homophily, degree, features, filled)


def _generated(
    name: str, nodes: int, classes: int, homophily: float, degree: float, features: int, filled: float
) -> NodeDataset:
    """Words of a document: each class uses some of them twice as often."""
    graph = contextual_sbm(nodes, classes, homophily, degree, num_features=1)
    labels = graph.labels.numpy()
    random = np.random.default_rng(0)
    share = filled * (1 + (random.random((classes, features)) < 0.1))
    x = np.concatenate([random.random((len(part), features)) < share[part] for part in np.array_split(labels, 20)])
    return NodeDataset(name, graph.graph, pack_features(x.astype(np.float32)), torch.from_numpy(labels))
