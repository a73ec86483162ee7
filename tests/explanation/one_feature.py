"""A graph on which one feature, at one hop, decides the class."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch

from unifilter import Graph, UniFilterClassifier

NODES, COLUMNS, DECISIVE = 1200, 6, 2
TRAIN, TEST = np.arange(1000), np.arange(1000, NODES)


@cache
def planted(hop: int) -> tuple[Graph, np.ndarray, np.ndarray]:
    """The class is the sign of the decisive column, of the node itself or of the sum over its neighbors."""
    x = np.random.default_rng(0).standard_normal((NODES, COLUMNS)).astype(np.float32)
    ring = np.arange(NODES)
    ends = np.concatenate([(ring + 1) % NODES, (ring + 7) % NODES])
    graph = Graph.from_edges(torch.from_numpy(np.stack([np.tile(ring, 2), ends])))
    signal = x if hop == 0 else graph.propagate(x).numpy()
    return graph, x, np.array(["minus", "plus"])[(signal[:, DECISIVE] > 0).astype(int)]


@cache
def fitted_on_planted(hop: int) -> UniFilterClassifier:
    graph, x, y = planted(hop)
    clf = UniFilterClassifier(
        basis="homophily",
        hops=1,
        features="raw",
        epochs=150,
        hidden_channels=16,
        num_layers=2,
        dropout=0.0,
        basis_dropout=0.0,
        batch_norm=False,
        lr=0.05,
        weight_decay=0.0,
        filter_lr=0.05,
        monitor="loss",
    )
    return clf.fit(graph, x, y, train=TRAIN)
