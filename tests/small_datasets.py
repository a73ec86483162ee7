"""Small data sets that several test files use."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from unifilter.data import NodeDataset, Split
from unifilter.graph import Graph

PATH = Graph.from_edges(torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=5)


def part(*nodes: int) -> np.ndarray:
    return np.array(nodes, dtype=np.int64)


def small(**changes: Any) -> NodeDataset:
    fields: dict[str, Any] = {
        "name": "small",
        "graph": PATH,
        "features": torch.arange(10.0).reshape(5, 2),
        "labels": torch.tensor([0, 1, 1, 0, 1]),
        "splits": {"mine": (Split("mine", 0, part(0, 1), part(2), part(3)),)},
    }
    return NodeDataset(**(fields | changes))


def labeled(count: int) -> NodeDataset:
    """As many nodes as are asked for, in a ring, of two classes in turn."""
    nodes = torch.arange(count)
    ring = Graph.from_edges(torch.stack([nodes, (nodes + 1) % count]))
    return NodeDataset("ring", ring, torch.ones(count, 1), nodes % 2)
