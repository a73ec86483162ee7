"""The tau figure from nothing to the report, against the published procedure: a basis again for each tau and split."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.published import coo_propagation, einsum_inner, plain_inner, published_basis
from benchmarks.report import Report, print_table, seconds
from benchmarks.training import PublishedWay
from unifilter import estimate_homophily
from unifilter.datasets import load_dataset
from unifilter.experiments import Options, Sources, find_experiments
from unifilter.experiments.engine.reproduce import reproduce
from unifilter.experiments.paper.figure_tau import TAUS
from unifilter.methods.uni_filter import UniFilterMethod
from unifilter.training import Classification
from unifilter.training.trainer import _one_epoch, _validate

_GRAPH, _SPLITS, _EPOCHS = "chameleon", 2, 30


def run_reproduce(report: Report, splits: int = _SPLITS, epochs: int = _EPOCHS, taus: Sequence[float] = TAUS) -> None:
    """Each side once, since it takes minutes: ours with loading, storing, drawing and the report, theirs without."""
    if not os.environ.get("UNIFILTER_DATA"):
        print(f"\nThe tau figure on {_GRAPH}: skipped, set UNIFILTER_DATA to a folder with npz/ to measure it")
        return
    started = time.perf_counter()
    cells = _ours(splits, epochs)
    ours = time.perf_counter() - started
    published = _published(splits, epochs, taus, einsum_inner) * len(TAUS) / len(taus)
    # Every tau costs the same: one says what all of them take.
    careful = _published(splits, epochs, taus[:1], plain_inner) * len(TAUS)
    print_table(
        f"The tau figure on {_GRAPH}: {cells} cells ({len(TAUS)} tau, {splits} splits, {epochs} epochs)",
        ["contender", "time", "published / it"],
        [
            ["published procedure", seconds(published), ""],
            ["published procedure, its slow einsum replaced", seconds(careful), f"{published / careful:.2f}x"],
            [
                "unifilter reproduce figure-tau",
                seconds(ours),
                report.at_least(f"{_GRAPH}: published tau figure / ours", published / ours, 5),
            ],
        ],
    )
    report.figures["reproduce"] = {"published": published, "einsum replaced": careful, "ours": ours, "cells": cells}


def _ours(splits: int, epochs: int) -> int:
    options = Options(datasets=(_GRAPH,), splits=splits, epochs=epochs)
    with tempfile.TemporaryDirectory() as folder:
        result = reproduce(find_experiments("figure-tau"), Path(folder), options, Sources(), verbose=False)
    if result.failures:
        raise RuntimeError(f"a cell failed, so there is nothing to compare: {result.failures[0]}")
    return result.ran


def _published(splits: int, epochs: int, taus: Sequence[float], inner: Callable[[Tensor, Tensor], Tensor]) -> float:
    """Seconds of the way of the paper's code: everything again for each tau and split, training in plain torch."""
    started = time.perf_counter()
    method, dataset = UniFilterMethod.preset(_GRAPH), load_dataset(_GRAPH)
    x, task = dataset.scaled(method.features).features.to_dense(), Classification(dataset.labels)
    for tau in taus:
        for index in range(splits):
            split = dataset.split("60", index)
            homophily = float(estimate_homophily(dataset.graph, dataset.labels, split.train))
            basis = published_basis(coo_propagation(dataset.graph), x, method.hops, tau, homophily, inner)
            torch.manual_seed(method.seed)
            model = PublishedWay(basis, method, dataset.num_classes)
            optimizer = torch.optim.Adam(model.parameter_groups(method))
            train, val, test = map(torch.as_tensor, (split.train, split.val, split.test))
            for _ in range(epochs):
                _one_epoch(model, model, task, train, optimizer, None)
                _validate(model, model, task, val, method.metric)
            _validate(model, model, task, test, method.metric)
    return time.perf_counter() - started
