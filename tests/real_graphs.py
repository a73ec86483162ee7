"""The real graphs of the tests, read from the folder that the environment variable UNIFILTER_DATA names."""

from __future__ import annotations

import os
import pickle
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unifilter.graph import Graph

RealGraph = tuple[Graph, np.ndarray, np.ndarray]

needs_data = pytest.mark.skipif(
    not os.environ.get("UNIFILTER_DATA"),
    reason="set UNIFILTER_DATA to a folder with npz/ and planetoid/ to test on real graphs",
)


@cache
def real_graph(name: str) -> RealGraph:
    """The graph, its float32 features and its labels."""
    edges, features, labels = _planetoid(name) if name in ("cora", "citeseer", "pubmed") else _npz(name)
    return Graph.from_edges(edges, num_nodes=len(labels)), features, labels


def _npz(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    with np.load(_folder() / "npz" / f"{name}.npz") as file:
        return file["edges"].T, file["node_features"].astype(np.float32), file["node_labels"].astype(np.int64)


def _planetoid(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    # Nodes of the test set come in the order of their own index file; the few without a label stay in class 0.
    def part(suffix: str) -> Any:
        with (_folder() / "planetoid" / f"ind.{name}.{suffix}").open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pickles of another age: numpy and scipy announce what they renamed since
            return pickle.load(file, encoding="latin1")

    known_features, test_features, known_labels, test_labels = (part(s) for s in ("allx", "tx", "ally", "ty"))
    test = np.loadtxt(_folder() / "planetoid" / f"ind.{name}.test.index", dtype=np.int64)
    num_nodes = max(int(test.max()) + 1, known_features.shape[0])
    features = np.zeros((num_nodes, known_features.shape[1]), dtype=np.float32)
    labels = np.zeros(num_nodes, dtype=np.int64)
    features[: known_features.shape[0]], features[test] = known_features.toarray(), test_features.toarray()
    labels[: len(known_labels)], labels[test] = known_labels.argmax(axis=1), test_labels.argmax(axis=1)
    edges = np.array([(u, v) for u, neighbours in part("graph").items() for v in neighbours], dtype=np.int64)
    return edges.T, features, labels


def _folder() -> Path:
    return Path(os.environ["UNIFILTER_DATA"])
