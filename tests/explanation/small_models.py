"""Small models that several tests explain."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch

from unifilter import Graph, UniFilterClassifier

NODES, CHANNELS = 40, 7


@cache
def small_graph() -> tuple[Graph, np.ndarray, np.ndarray]:
    """Two classes in two loosely joined halves; features that tell them apart a little."""
    rng = np.random.default_rng(0)
    labels = np.arange(NODES) % 2
    ends = rng.integers(0, NODES, (2, 400))
    kept = (labels[ends[0]] == labels[ends[1]]) | (rng.random(400) < 0.2)
    x = rng.standard_normal((NODES, CHANNELS)) + labels[:, None]
    return Graph.from_edges(torch.from_numpy(ends[:, kept]), num_nodes=NODES), x.astype(np.float32), labels


@cache
def fitted(**settings: Any) -> UniFilterClassifier:
    """A classifier that learned even from odd; tests share it and only read."""
    graph, x, labels = small_graph()
    names = np.array(["even", "odd"])[labels]
    clf = UniFilterClassifier(**({"hops": 4, "epochs": 30, "hidden_channels": 8, "dropout": 0.0} | settings))
    return clf.fit(graph, x, names, train=np.arange(30))
