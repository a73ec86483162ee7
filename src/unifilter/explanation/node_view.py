"""Contributions of hops, features and nodes to the prediction of one node."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from unifilter._internal.checks import as_feature_matrix
from unifilter._internal.columns import dense_columns
from unifilter.estimators import NodeEstimator, TrainedModel
from unifilter.explanation.filter_parts import FilterAndMLP, integrated_gradients
from unifilter.graph import Graph

# Steps of the path integral. The MLP is piecewise linear with few kinks on the path, and `gap` reports the error.
_STEPS = 128
# Columns processed together, which limits the work space to a few vectors of this many columns.
_COLUMNS = 256
# ... and at most so large: a handful of arrays of this size are there at once.
_BLOCK_BYTES = 1 << 28


@dataclass(frozen=True, eq=False, repr=False)
class NodeView:
    """Contributions to the prediction of one node.

    The score of a class is its logit minus the mean of all logits. Contributions add up to ``score - baseline`` up to
    ``gap``.

    Attributes:
        node: The node.
        predicted, explained: The predicted class, and the class whose score is explained.
        score: Score of the explained class.
        baseline: Score of a node whose filtered features are all zero.
        by_hop_and_feature: Contributions ``[hops + 1, channels]``.
        by_node_and_feature: Contributions of each feature of each node, ``[num_nodes, channels]``.
        gap: Unexplained part of the score, from rounding and the steps of the path integral.
    """

    node: int
    predicted: Any
    explained: Any
    score: float
    baseline: float
    by_hop_and_feature: np.ndarray
    by_node_and_feature: np.ndarray
    gap: float

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(node={self.node}, predicted={self.predicted!r}, explained={self.explained!r}, "
            f"score={self.score:.4g}, gap={self.gap:.1e})"
        )

    @property
    def by_hop(self) -> np.ndarray:
        """Contribution of each hop."""
        total: np.ndarray = self.by_hop_and_feature.sum(axis=1)
        return total

    @property
    def by_feature(self) -> np.ndarray:
        """Contribution of each feature column."""
        total: np.ndarray = self.by_hop_and_feature.sum(axis=0)
        return total

    @property
    def by_node(self) -> np.ndarray:
        """Contribution of the features of each node."""
        total: np.ndarray = self.by_node_and_feature.sum(axis=1)
        return total

    def top_features(self, count: int = 10) -> list[tuple[int, float]]:
        """The features with the largest absolute contributions."""
        return _largest(self.by_feature, count)

    def top_nodes(self, count: int = 10) -> list[tuple[int, float]]:
        """The nodes with the largest absolute contributions."""
        return _largest(self.by_node, count)


def explain_node(
    model: NodeEstimator | TrainedModel, node: int, *, target: Any = None, graph: Any = None, x: Any = None
) -> NodeView:
    r"""Contributions of hops, features and nodes to the prediction of one node.

    The MLP is explained by integrated gradients (Sundararajan et al. 2017) along the straight path from zero to the
    node's filtered features :math:`z`: the contribution of a channel is the mean gradient on the path times :math:`z`.
    The filter is linear, so its part is exact: :math:`z_c = \sum_k w_k \sum_u [b_k(\mathbf{P})]_{vu} x_{uc}` is split
    by hop and by node without further assumptions.

    Args:
        model: A fitted classifier, or a loaded model together with ``graph`` and ``x``, of UniFilter or one of its
            variants.
        node: The node.
        target: The class whose score is explained. Default: the predicted class.
        graph: A graph other than that of ``fit``.
        x: Its features.

    Example:
        >>> from unifilter import UniFilterClassifier
        >>> from unifilter.datasets import load_dataset
        >>> from unifilter.explanation import explain_node
        >>> karate = load_dataset("karate")
        >>> clf = UniFilterClassifier(hops=4, homophily=0.8, epochs=50)
        >>> clf = clf.fit(karate.graph, karate.features, karate.labels, train=[0, 1, 33, 32])
        >>> view = explain_node(clf, 5)
        >>> view.by_hop.shape, view.by_feature.shape, view.by_node.shape
        ((5,), (34,), (34,))
    """
    if isinstance(model, NodeEstimator):
        check_is_fitted(model)
    trained: TrainedModel = model.model_ if isinstance(model, NodeEstimator) else model
    parts = FilterAndMLP.of(trained, "explain a node of unifilter, homfilter, hetfilter or ortfilter")
    known_graph, features = _graph_and_features(model, trained, graph, x)
    if isinstance(node, bool) or not isinstance(node, (int, np.integer)) or not 0 <= node < known_graph.num_nodes:
        raise ValueError(f"there is no node {node!r}: nodes are 0 to {known_graph.num_nodes - 1}")
    by_node, by_hop = _filtered_parts(known_graph, features, parts, int(node))
    filtered = by_hop.sum(dim=0)
    with torch.no_grad():
        logits = parts.mlp(filtered[None])[0]
    classes = trained.classes.tolist()
    predicted = int(logits.argmax())
    explained = predicted if target is None else _class_index(classes, target)
    target_index = torch.tensor([explained])
    gradient, score, baseline = integrated_gradients(
        parts.mlp, filtered[None], target_index, _STEPS, trained.task == "classification"
    )
    contributions = by_hop * gradient
    return NodeView(
        node=int(node),
        predicted=classes[predicted],
        explained=classes[explained],
        score=float(score),
        baseline=float(baseline),
        by_hop_and_feature=contributions.numpy(),
        by_node_and_feature=(by_node * gradient).numpy(),
        gap=float(score - baseline - contributions.sum()),
    )


def _graph_and_features(
    model: NodeEstimator | TrainedModel, trained: TrainedModel, graph: Any, x: Any
) -> tuple[Graph, Tensor]:
    """The graph as the model uses it, and prepared features."""
    if (graph is None) != (x is None):
        raise ValueError("graph and x belong together: pass both")
    seen = graph is None
    if seen:
        data = model.data_ if isinstance(model, NodeEstimator) else None
        if data is None:
            raise ValueError("a loaded model has no graph: pass one, explain_node(model, node, graph=..., x=...)")
        graph, x = data.graph, data.inputs
    known = trained.graph_of(graph).to("cpu")
    return known, as_feature_matrix(trained.prepare(x, seen=seen), known.num_nodes)


def _filtered_parts(graph: Graph, features: Tensor, parts: FilterAndMLP, node: int) -> tuple[Tensor, Tensor]:
    r"""Parts of the filtered features of one node: ``[num_nodes, channels]`` by node, ``[m, channels]`` by hop.

    The propagation matrix is symmetric, so row ``node`` of a polynomial of it is the polynomial applied to the unit
    vector of the node: a single recurrence for any number of nodes.
    """
    tridiagonal, weighted = parts.tridiagonal, parts.weighted
    if features.shape[1] != tridiagonal.channels:
        raise ValueError(
            f"x has {features.shape[1]} feature columns, but the model was trained on {tridiagonal.channels}: "
            "pass the same columns in the same order"
        )
    on_vectors = weighted.sum(dim=0)
    by_node = torch.empty(graph.num_nodes, tridiagonal.channels, dtype=torch.float64)
    by_hop = torch.empty(len(weighted), tridiagonal.channels, dtype=torch.float64)
    together = max(1, min(_COLUMNS, _BLOCK_BYTES // (8 * graph.num_nodes)))
    for start in range(0, tridiagonal.channels, together):
        columns = slice(start, min(start + together, tridiagonal.channels))
        some = tridiagonal.select(columns)
        x = dense_columns(features, columns.start, columns.stop).double()
        unit = torch.zeros_like(x)
        unit[node] = torch.where(some.norm > 0, 1 / some.norm, 0.0)
        total, at_node = torch.zeros_like(x), []
        for k, vector in enumerate(some.sequence(partial(graph.propagate, check_finite=False), unit)):
            total += on_vectors[k, columns] * vector
            at_node.append((vector * x).sum(dim=0))
        by_node[:, columns] = total * x
        by_hop[:, columns] = torch.einsum("kic,ic->kc", weighted[:, :, columns], torch.stack(at_node))
    return by_node, by_hop


def _class_index(classes: list[Any], target: Any) -> int:
    if target not in classes:
        raise ValueError(f"{target!r} is not a class of this model: its classes are {', '.join(map(repr, classes))}")
    return classes.index(target)


def _largest(values: np.ndarray, count: int) -> list[tuple[int, float]]:
    order = np.argsort(-np.abs(values), kind="stable")[:count]
    return [(int(index), float(values[index])) for index in order]
