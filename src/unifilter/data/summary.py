"""Summary of a data set: size, homophily, and how many test nodes duplicate training nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unifilter.data.column_scales import column_deviations
from unifilter.data.column_summary import ColumnSummary, describe_column, describe_columns
from unifilter.data.features import scale_spread
from unifilter.data.metric import TaskName
from unifilter.data.node_dataset import NodeDataset
from unifilter.data.splits import Split, check_split
from unifilter.graph import (
    Direction,
    EdgeFacts,
    Graph,
    SelfLoops,
    adjusted_homophily,
    class_homophily,
    edge_homophily,
    node_homophily,
)


@dataclass(frozen=True)
class ClassSize:
    """The size of a class or label.

    Attributes:
        name: Name of the class or label.
        nodes: Number of nodes with it.
        share: Share of all labeled nodes.
    """

    name: str
    nodes: int
    share: float


@dataclass(frozen=True)
class DatasetSummary:
    """Figures that matter for interpreting results on a data set.

    Two nodes are *duplicates* if they have the same neighbors, at least one, and the same known label; edge weights
    are ignored. A model that has seen one of them knows the other: `"A critical look at the evaluation of GNNs under
    heterophily" <https://arxiv.org/abs/2302.11640>`_ (Platonov et al. 2023) found many in chameleon and squirrel.

    Attributes:
        name: Name of the data set.
        nodes, edges, features, classes: Counts. An undirected edge counts once, self-loops do not count. For a table,
            ``features`` is the number of its columns. For multilabel classification, ``classes`` is the number of
            labels.
        task: The learning task.
        labeled: Nodes with a known label.
        class_sizes: Size of every class or label, the largest first.
        targets: Summaries of the numbers to predict.
        isolated: Nodes without neighbors.
        edge_homophily, node_homophily, class_homophily, adjusted_homophily: See :mod:`unifilter.graph`; ``None`` where
            a measure is undefined, for example for a single class or without an edge between labeled nodes.
        target_homophily: Homophily of multilabel or regression targets; ``None`` for classification.
        same_neighbors: Nodes that have exactly the same neighbors, at least one, as another node.
        duplicates: Those among them whose label is also known and the same.
        edge_facts: Facts about the original edge list; ``None`` if unknown.
        direction: Whether edges are directed, as in :meth:`unifilter.Graph.from_edges`.
        self_loops: Treatment of self-loops, as in :meth:`unifilter.Graph.from_edges`.
        columns: Summaries of the columns of a table; empty if the features are an array.
        nonzero_share: Share of nonzero entries of the features. This and the next four are ``None`` for a table.
        constant_columns: Features with the same value at every node.
        smallest_deviation, largest_deviation: Range of the standard deviations of the other features; ``None`` if all
            are constant.
        scale_spread: The largest standard deviation divided by the smallest.
        split: The split described; ``None`` without one.
        train, val, test: Sizes of its parts.
        leak: Share of the test nodes that are duplicates of a training node.
        missing_classes: Names of the classes without a node in ``train``, ``val`` and ``test``.
    """

    name: str
    nodes: int
    edges: int
    features: int
    classes: int
    labeled: int
    class_sizes: tuple[ClassSize, ...]
    isolated: int
    edge_homophily: float | None
    node_homophily: float | None
    class_homophily: float | None
    adjusted_homophily: float | None
    same_neighbors: int
    duplicates: int
    edge_facts: EdgeFacts | None
    direction: Direction
    self_loops: SelfLoops
    task: TaskName = "classification"
    target_homophily: float | None = None
    targets: tuple[ColumnSummary, ...] = ()
    columns: tuple[ColumnSummary, ...] = ()
    nonzero_share: float | None = None
    constant_columns: int | None = None
    smallest_deviation: float | None = None
    largest_deviation: float | None = None
    scale_spread: float | None = None
    split: str | None = None
    train: int | None = None
    val: int | None = None
    test: int | None = None
    leak: float | None = None
    missing_classes: dict[str, list[str]] | None = None


def describe(dataset: NodeDataset, split: Split | None = None) -> DatasetSummary:
    """Summarize a data set and, optionally, a split of it.

    Example:
        >>> from unifilter.data.summary import describe
        >>> from unifilter.datasets.synthetic import binary_tree
        >>> summary = describe(binary_tree())
        >>> summary.nodes, summary.edges, summary.same_neighbors  # 32 pairs of leaves share a parent
        (127, 126, 64)
    """
    labels = dataset.labels.cpu().numpy()
    group = _same_neighbors(dataset.graph)
    # One number per combination of neighbors and label; -1 if either is missing.
    kind = np.where((group >= 0) & (labels >= 0), group * (labels.max(initial=0) + 1) + labels, -1)
    figures: dict[str, Any] = {}
    if split is not None:
        check_split(split, dataset.strata)
        copied = np.isin(kind[split.test], kind[split.train]) & (kind[split.test] >= 0)
        sizes = {"train": len(split.train), "val": len(split.val), "test": len(split.test)}
        figures = {
            "split": f"{split.name} [{split.index}]",
            **sizes,
            "leak": float(copied.mean()),
            "missing_classes": dataset.missing_classes(split),
        }
    return DatasetSummary(
        name=dataset.name,
        nodes=dataset.graph.num_nodes,
        edges=dataset.graph.num_edges,
        features=dataset.num_features if dataset.table is None else len(dataset.table.names),
        classes=0 if dataset.task == "regression" else dataset.num_outputs,
        task=dataset.task,
        target_homophily=dataset.target_homophily,
        targets=_targets(dataset),
        labeled=int(dataset.answered.sum()),
        class_sizes=_class_sizes(dataset),
        isolated=int(dataset.graph.isolated.sum()),
        edge_homophily=_where_defined(edge_homophily, dataset),
        node_homophily=_where_defined(node_homophily, dataset),
        class_homophily=_where_defined(class_homophily, dataset),
        adjusted_homophily=_where_defined(adjusted_homophily, dataset),
        same_neighbors=_repeated(group),
        duplicates=_repeated(kind),
        edge_facts=dataset.graph.edge_facts,
        direction=dataset.graph.direction,
        self_loops=dataset.graph.self_loops,
        **({"columns": describe_columns(dataset.table)} if dataset.table else _feature_figures(dataset.features)),
        **figures,
    )


def _class_sizes(dataset: NodeDataset) -> tuple[ClassSize, ...]:
    if dataset.task == "regression":
        return ()
    names = dataset.class_values.tolist()
    if dataset.targets is None:
        labels = dataset.labels.cpu().numpy()
        counts = np.bincount(labels[labels >= 0], minlength=len(names)).tolist()
    else:
        counts = (dataset.targets == 1).sum(dim=0).tolist()
    total = max(int(dataset.answered.sum()), 1)
    sizes = [ClassSize(name, count, count / total) for name, count in zip(names, counts, strict=True)]
    return tuple(sorted(sizes, key=lambda size: -size.nodes))


def _targets(dataset: NodeDataset) -> tuple[ColumnSummary, ...]:
    if dataset.task != "regression" or dataset.targets is None:
        return ()
    columns = zip(dataset.class_values.tolist(), dataset.targets.numpy().T, strict=True)
    return tuple(describe_column(name, values) for name, values in columns)


def _feature_figures(features: Tensor) -> dict[str, Any]:
    stored = features.values() if features.layout == torch.sparse_csr else features
    deviations = column_deviations(features)
    varying = deviations[deviations > 0]
    return {
        "nonzero_share": int(torch.count_nonzero(stored)) / max(features.shape[0] * features.shape[1], 1),
        "constant_columns": int((deviations == 0).sum()),
        "smallest_deviation": float(varying.min()) if len(varying) else None,
        "largest_deviation": float(varying.max()) if len(varying) else None,
        "scale_spread": scale_spread(features),
    }


def _same_neighbors(graph: Graph) -> np.ndarray:
    """A number for each distinct set of neighbors, ``[num_nodes]``; -1 for isolated nodes."""
    start, neighbors = graph.row_start.cpu().numpy(), graph.neighbors.cpu().numpy()
    number: dict[bytes, int] = {}
    group = np.full(graph.num_nodes, -1, dtype=np.int64)
    for node in range(graph.num_nodes):
        own = neighbors[start[node] : start[node + 1]]
        if graph.self_loops != "remove":
            own = own[own != node]
        if len(own):
            # Neighbors are sorted, so equal sets are equal bytes.
            group[node] = number.setdefault(own.tobytes(), len(number))
    return group


def _repeated(group: np.ndarray) -> int:
    """How many nodes share their group with another node; -1 means no group."""
    _, sizes = np.unique(group[group >= 0], return_counts=True)
    return int(sizes[sizes > 1].sum())


def _where_defined(measure: Callable[[Graph, Any], float], dataset: NodeDataset) -> float | None:
    try:
        return measure(dataset.graph, dataset.labels)
    except ValueError:
        return None  # the data set is valid, so the error means that the measure is undefined
