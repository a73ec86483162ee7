"""Tiny data sets in place of the real ones: a few dozen nodes each, in files, as a user would pass them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from unifilter.data import stratified_split
from unifilter.datasets.synthetic import contextual_sbm

NAMES = (
    "cora", "citeseer", "pubmed", "actor", "chameleon", "squirrel",
    "penn94", "genius", "ogbn-arxiv", "cornell5",
    "chameleon-filtered", "squirrel-filtered", "minesweeper",
)  # fmt: skip


def write_tiny(path: Path, nodes: int, classes: int, homophily: float, seed: int) -> Path:
    """A graph with two masks."""
    made = contextual_sbm(nodes, classes, homophily, average_degree=5, num_features=12, signal=2.0, seed=seed)
    splits = [stratified_split(made.labels, 0.5, 0.25, seed=index) for index in range(2)]
    masks = {
        f"{part}_masks": np.stack([np.isin(np.arange(nodes), getattr(split, part)) for split in splits])
        for part in ("train", "val", "test")
    }
    edges = made.graph.edges()[0].T.numpy()
    np.savez(path, node_features=made.features.abs().numpy(), node_labels=made.labels.numpy(), edges=edges, **masks)
    return path


def write_all(folder: Path) -> dict[str, Path]:
    files = {}
    for index, name in enumerate(NAMES):
        # Cora lends its graph to G_s: eight classes and enough edges to be relabeled down to a homophily of 0.13.
        nodes, classes = (600, 8) if name == "cora" else (80, 2 if name in ("genius", "minesweeper") else 4)
        files[name] = write_tiny(folder / f"{name}.npz", nodes, classes, 0.81 if index < 3 else 0.3, seed=index)
    return files


@pytest.fixture(scope="session")
def tiny_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("tiny")
    return write_all(folder)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """On graphs of this size threads only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
