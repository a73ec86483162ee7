"""Homophily estimated from training labels, and that of all labels."""

from __future__ import annotations

from typing import Any

from unifilter.experiments.engine.cells import Cell
from unifilter.experiments.engine.sources import choose_split
from unifilter.graph import edge_homophily, estimate_homophily
from unifilter.methods import Workspace


def measure_estimate(workspace: Workspace, cell: Cell) -> dict[str, Any]:
    """The estimate on one split, its standard error, and the homophily of the whole graph."""
    dataset = workspace.dataset
    split = choose_split(dataset, cell.split, cell.index)
    estimate = estimate_homophily(dataset.graph, dataset.labels, split.train)
    return {
        "estimate": float(estimate),
        "standard_error": estimate.standard_error,
        "edges": estimate.num_edges,
        "homophily": edge_homophily(dataset.graph, dataset.labels),
        "train_nodes": len(split.train),
    }
