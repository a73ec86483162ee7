"""What a data set is like: its size, its homophily, and how far its test nodes are copies of training nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unifilter.data.node_dataset import NodeDataset
from unifilter.data.splits import Split, check_split
from unifilter.graph import Graph, adjusted_homophily, class_homophily, edge_homophily, node_homophily


@dataclass(frozen=True)
class DatasetSummary:
    """The figures that decide how to read a result on a data set.

    Two nodes are *duplicates* when they have the same neighbours, at least one, and the same known label; weights do
    not matter. A model that has seen one of them knows the other: `"A critical look at the evaluation of GNNs under
    heterophily" <https://arxiv.org/abs/2302.11640>`_ (Platonov et al. 2023) found many in chameleon and squirrel.

    Attributes:
        name: The data set.
        nodes, edges, features, classes: Counts; an undirected edge counts once, self-loops do not.
        labelled: Nodes with a known label.
        isolated: Nodes without neighbours.
        edge_homophily, node_homophily, class_homophily, adjusted_homophily: See :mod:`unifilter.graph`; ``None``
            where a measure is not defined, as for a single class or without an edge between labelled nodes.
        same_neighbours: Nodes with exactly the neighbours, at least one, of some other node.
        duplicates: Those of them where the other one also has the same known label.
        split: The split described, ``None`` without one.
        train, val, test: Its sizes.
        leak: Share of its test nodes that are duplicates of a training node.
    """

    name: str
    nodes: int
    edges: int
    features: int
    classes: int
    labelled: int
    isolated: int
    edge_homophily: float | None
    node_homophily: float | None
    class_homophily: float | None
    adjusted_homophily: float | None
    same_neighbours: int
    duplicates: int
    split: str | None = None
    train: int | None = None
    val: int | None = None
    test: int | None = None
    leak: float | None = None


def describe(dataset: NodeDataset, split: Split | None = None) -> DatasetSummary:
    """The figures of a data set and, where one is given, of a split of it.

    Example:
        >>> from unifilter.data.summary import describe
        >>> from unifilter.datasets.synthetic import binary_tree
        >>> summary = describe(binary_tree())
        >>> summary.nodes, summary.edges, summary.same_neighbours  # 32 pairs of leaves share their parent
        (127, 126, 64)
    """
    labels = dataset.labels.cpu().numpy()
    group = _same_neighbours(dataset.graph)
    # One number for each pair of neighbours and label; -1 where either is missing.
    kind = np.where((group >= 0) & (labels >= 0), group * (labels.max(initial=0) + 1) + labels, -1)
    figures: dict[str, Any] = {}
    if split is not None:
        check_split(split, labels)
        copied = np.isin(kind[split.test], kind[split.train]) & (kind[split.test] >= 0)
        sizes = {"train": len(split.train), "val": len(split.val), "test": len(split.test)}
        figures = {"split": f"{split.name} [{split.index}]", **sizes, "leak": float(copied.mean())}
    return DatasetSummary(
        name=dataset.name,
        nodes=dataset.graph.num_nodes,
        edges=dataset.graph.num_edges,
        features=dataset.num_features,
        classes=dataset.num_classes,
        labelled=int((labels >= 0).sum()),
        isolated=int(dataset.graph.isolated.sum()),
        edge_homophily=_where_defined(edge_homophily, dataset),
        node_homophily=_where_defined(node_homophily, dataset),
        class_homophily=_where_defined(class_homophily, dataset),
        adjusted_homophily=_where_defined(adjusted_homophily, dataset),
        same_neighbours=_repeated(group),
        duplicates=_repeated(kind),
        **figures,
    )


def _same_neighbours(graph: Graph) -> np.ndarray:
    """One number for each set of neighbours, ``[num_nodes]``; -1 at isolated nodes."""
    start, neighbours = graph.row_start.cpu().numpy(), graph.neighbours.cpu().numpy()
    number: dict[bytes, int] = {}
    group = np.full(graph.num_nodes, -1, dtype=np.int64)
    for node in range(graph.num_nodes):
        own = neighbours[start[node] : start[node + 1]]
        if graph.self_loops == "add":
            own = own[own != node]
        if len(own):
            # Neighbours are stored in ascending order, so equal sets are equal bytes.
            group[node] = number.setdefault(own.tobytes(), len(number))
    return group


def _repeated(group: np.ndarray) -> int:
    """How many nodes share their number with another; -1 is no number."""
    _, sizes = np.unique(group[group >= 0], return_counts=True)
    return int(sizes[sizes > 1].sum())


def _where_defined(measure: Callable[[Graph, Any], float], dataset: NodeDataset) -> float | None:
    try:
        return measure(dataset.graph, dataset.labels)
    except ValueError:
        return None  # the data set itself has been checked: what is left to refuse is a measure without a value
