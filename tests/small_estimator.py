"""An estimator that fits at once, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from unifilter import Graph, UniFilterClassifier
from unifilter.data import NodeDataset

# Nothing left to choose: one training.
SMALL = {
    "hops": 3,
    "hidden_channels": 8,
    "epochs": 8,
    "batch_norm": False,
    "dropout": 0.5,
    "basis_dropout": 0.2,
    "lr": 0.05,
    "weight_decay": 5e-4,
}


def refit(data: NodeDataset, **settings: Any) -> UniFilterClassifier:
    return UniFilterClassifier(**{**SMALL, **settings}).fit(data.graph, data.features, data.labels)


def refit_on(data: NodeDataset, labels: Any, **nodes: Any) -> UniFilterClassifier:
    return UniFilterClassifier(**SMALL).fit(data.graph, data.features, labels, **nodes)


def grown(data: NodeDataset) -> tuple[Graph, torch.Tensor]:
    """Ten nodes more, each tied to four."""
    random = np.random.default_rng(5)
    new = np.stack([np.repeat(np.arange(60, 70), 4), random.integers(0, 60, 40)])
    edges, _ = data.graph.edges()
    more = torch.from_numpy(random.standard_normal((10, 6)).astype(np.float32))
    return Graph.from_edges(np.concatenate([edges.numpy(), new], axis=1), 70), torch.cat([data.features, more])
