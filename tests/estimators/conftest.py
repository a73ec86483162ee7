"""A small graph, an estimator fitted on it, and a count of factorizations."""

from __future__ import annotations

from typing import Any

import pytest
from small_estimator import SMALL

from unifilter import Graph, UniFilterClassifier
from unifilter.data import NodeDataset
from unifilter.datasets.synthetic import contextual_sbm
from unifilter.methods import problem


@pytest.fixture(scope="module")
def data() -> NodeDataset:
    return contextual_sbm(num_nodes=60, num_classes=3, homophily=0.8, average_degree=5, num_features=6, signal=2.0)


@pytest.fixture(scope="module")
def fitted(data: NodeDataset) -> UniFilterClassifier:
    """Not to be changed by a test."""
    return UniFilterClassifier(**SMALL).fit(data.graph, data.features, data.labels)


@pytest.fixture
def factorizations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of hops of each factorization, in the order they are made."""
    made: list[int] = []
    original = problem.factorize

    def counted(graph: Graph, features: Any, hops: int) -> Any:
        made.append(hops)
        return original(graph, features, hops)

    monkeypatch.setattr(problem, "factorize", counted)
    return made
