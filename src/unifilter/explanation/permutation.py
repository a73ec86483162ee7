"""Permutation importance: the accuracy a model of any method loses without a feature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from unifilter._internal.checks import as_labels, as_node_mask, check_count
from unifilter.data import Classes, Table, check_labeled, is_frame, pack_features
from unifilter.estimators import TrainedModel
from unifilter.explanation.importance import Importance, column_groups
from unifilter.graph import Graph


def permutation_importance(
    model: TrainedModel,
    graph: Any,
    x: Any,
    labels: Any,
    nodes: Any,
    *,
    groups: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    repeats: int = 3,
    max_columns: int = 64,
    seed: int = 0,
) -> Importance:
    """Accuracy lost when the values of a feature are permuted among all nodes of the graph.

    This works for every method, and takes one prediction of the whole graph per feature and repetition. Redundant
    features hide each other's importance: group them.

    Args:
        model: A model of any method.
        graph: Any graph accepted by :func:`unifilter.graph.as_graph`.
        x: Its features, dense or sparse, or a table, whose columns are permuted one by one.
        labels: The class of each node, as in ``model.classes``; or class indices if the classes are strings. -1 means
            unknown.
        nodes: Nodes on which accuracy is measured, a mask or indices. Use nodes that the model was not trained on.
        groups: A group index from 0 for each column of ``x``, to permute columns together. Default: every column
            separately.
        names: Names of the columns, or of the groups.
        repeats: Number of permutations to average over.
        max_columns: Maximum number of features. More features raise an error, because they would take long.
        seed: Random seed of the permutations.

    Example:
        >>> import numpy as np
        >>> from unifilter import NodeClassifier
        >>> from unifilter.datasets import load_dataset
        >>> from unifilter.explanation import permutation_importance
        >>> karate = load_dataset("karate")
        >>> clf = NodeClassifier("sgc").fit(karate.graph, karate.features, karate.labels, train=range(0, 34, 2))
        >>> permutation_importance(clf.model_, karate.graph, karate.features, karate.labels, range(1, 34, 2))
        Importance('accuracy', nodes=17, features=34, classes=2)
    """
    check_count("repeats", repeats, "leave it out for 3")
    check_count("max_columns", max_columns, "leave it out for 64")
    features, group_names, permuted = _permutable(model, x, groups, names)
    known = model.graph_of(graph, features.num_rows if isinstance(features, Table) else features.shape[0])
    if len(group_names) > max_columns:
        raise ValueError(
            f"there are {len(group_names)} features, and permuting each takes {repeats} predictions of the whole "
            f"graph: group columns that belong together, or pass max_columns={len(group_names)}"
        )
    truth = _class_indices(labels, model.classes, known.num_nodes)
    mask = as_node_mask(nodes, known.num_nodes, "nodes")
    check_labeled(truth, mask, "nodes")
    if not mask.any():
        raise ValueError("nodes is empty: pass some nodes that have a class")

    right = _right(model, known, features, truth)[mask].astype(float)
    rng = np.random.default_rng(seed)
    lost = np.zeros((len(group_names), len(right)))
    for index in range(len(group_names)):
        for _ in range(repeats):
            other = permuted(index, rng.permutation(known.num_nodes))
            lost[index] += (right - _right(model, known, other, truth)[mask]) / repeats
    of_class = truth[mask] == np.arange(len(model.classes))[:, None]
    class_nodes = of_class.sum(axis=1)
    with np.errstate(invalid="ignore"):  # a class without nodes has no accuracy
        per_class = (of_class @ lost.T) / class_nodes[:, None]
    return Importance(
        measure="accuracy",
        features=lost.mean(axis=1),
        per_class_features=per_class,
        hops=None,
        per_class_hops=None,
        names=group_names,
        classes=model.classes,
        class_nodes=class_nodes,
    )


def _right(model: TrainedModel, graph: Graph, features: Any, truth: np.ndarray) -> np.ndarray:
    """Which nodes are predicted correctly."""
    right: np.ndarray = model.logits(graph, features).argmax(dim=1).cpu().numpy() == truth
    return right


def _permutable(
    model: TrainedModel, x: Any, groups: Sequence[int] | None, names: Sequence[str] | None
) -> tuple[Any, tuple[str, ...], Callable[[int, np.ndarray], Any]]:
    """The features, the names of those that can be permuted, and a function that permutes one of them."""
    if isinstance(x, Table) or is_frame(x):
        table: Table = x if isinstance(x, Table) else Table.from_frame(x)

        def permuted_table(index: int, order: np.ndarray) -> Table:
            name = table.names[index]
            return replace(table, columns={**table.columns, name: table.columns[name][order]})

        return table, table.names, permuted_table
    features = _as_numpy_or_scipy(pack_features(x, model.dtype))
    group, group_names = column_groups(features.shape[1], groups, names)
    return features, group_names, lambda index, order: _permuted(features, (group == index).numpy(), order)


def _permuted(features: Any, columns: np.ndarray, order: np.ndarray) -> Any:
    """The features with the rows of some columns permuted."""
    if isinstance(features, np.ndarray):
        return np.where(columns, features[order], features)
    kept, moved = (sp.diags_array(part.astype(features.dtype)) for part in (~columns, columns))
    return features @ kept + features[order] @ moved


def _class_indices(labels: Any, classes: np.ndarray, num_nodes: int) -> np.ndarray:
    numbers = np.asarray(labels).dtype.kind in "iuf"
    if not (classes.dtype.kind in "OUS" and numbers):
        return Classes(classes).indices_of(labels, num_nodes)
    indices = as_labels(labels, num_nodes, len(classes))
    if indices.max() >= len(classes):
        raise ValueError(
            f"node {int(indices.argmax())} is of class {indices.max()}, but the model has {len(classes)} classes: "
            "pass class names instead"
        )
    return indices


def _as_numpy_or_scipy(features: torch.Tensor) -> Any:
    if features.layout == torch.strided:
        return features.numpy()
    parts = (features.values().numpy(), features.col_indices().numpy(), features.crow_indices().numpy())
    return sp.csr_array(parts, shape=(features.shape[0], features.shape[1]))
