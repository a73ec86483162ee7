"""Reader for genius, users of a lyrics site; the task is to find marked accounts (Lim & Benson 2021, LINKX)."""

from __future__ import annotations

from pathlib import Path

from unifilter.data import NodeDataset, pack_features
from unifilter.datasets.formats.matlab import load_mat
from unifilter.graph import Graph


def read(path: Path) -> NodeDataset:
    """Read the graph from its ``.mat`` file, with ``edge_index`` ``[2, E]``, ``node_feat`` ``[n, d]`` and ``label``."""
    edges, features, labels = load_mat(path, ("edge_index", "node_feat", "label"))
    return NodeDataset(
        name=path.stem,
        graph=Graph.from_edges(edges, num_nodes=features.shape[0]),
        features=pack_features(features),
        labels=labels.ravel(),
        metric="roc_auc",
        source=str(path),
    )
