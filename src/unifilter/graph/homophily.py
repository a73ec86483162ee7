"""Homophily: how often edges join nodes of the same class. Four measures, and an estimate from training labels.

All measures count edges: weights and self-loops are ignored. A label of -1 is unknown: an edge counts only if the
labels at both ends are known, and degrees are numbers of such edges.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unifilter._internal.checks import as_node_mask, consecutive_labels
from unifilter._internal.type_aliases import Labels, NodeIndex

if TYPE_CHECKING:
    from unifilter.graph.graph import Graph


def edge_homophily(graph: Graph, labels: Labels) -> float:
    r"""The share of edges that join two nodes of the same class,

    .. math:: h = \frac{|\{(u, v) \in \mathcal{E} : y_u = y_v\}|}{|\mathcal{E}|},

    from `"Beyond Homophily in Graph Neural Networks" <https://arxiv.org/abs/2006.11468>`_ (Zhu et al. 2020).
    This homophily sets the angle of the heterophily basis. With unbalanced classes it is high even if labels and edges
    are unrelated; :func:`adjusted_homophily` is not.

    Args:
        graph: The graph.
        labels: Class indices ``[num_nodes]``, -1 if unknown.

    Example:
        >>> import torch
        >>> from unifilter import Graph, edge_homophily
        >>> path = Graph.from_edges(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]))
        >>> edge_homophily(path, torch.tensor([0, 0, 1, 1, -1]))  # 0-1 and 2-3 agree, 1-2 does not, 3-4 is unknown
        0.6666666666666666
    """
    return _known_edges(graph, _classes(graph, labels)).homophily


def node_homophily(graph: Graph, labels: Labels) -> float:
    r"""The share of a node's neighbors that have its class, averaged over nodes,

    .. math:: \frac{1}{|\mathcal{V}'|} \sum_{v \in \mathcal{V}'}
        \frac{|\{u \in \mathcal{N}_v : y_u = y_v\}|}{|\mathcal{N}_v|},

    from `"Geom-GCN" <https://arxiv.org/abs/2002.05287>`_ (Pei et al. 2020). :math:`\mathcal{V}'` are the
    nodes with a known label and at least one neighbor with a known label; the others are left out of the average.

    Args:
        graph: The graph.
        labels: Class indices ``[num_nodes]``, -1 if unknown.

    Example:
        >>> import torch
        >>> from unifilter import Graph, node_homophily
        >>> star = Graph.from_edges(torch.tensor([[0, 0, 0, 0], [1, 2, 3, 4]]))
        >>> node_homophily(star, torch.tensor([0, 0, 1, 1, 1]))  # 1/4 at the center, then 1, 0, 0, 0
        0.25
    """
    edges = _known_edges(graph, _classes(graph, labels))
    reached = edges.degree > 0
    return float((edges.same_degree[reached] / edges.degree[reached]).mean())


def class_homophily(graph: Graph, labels: Labels) -> float:
    r"""How much the homophily of each class exceeds the value expected from its size,

    .. math:: \frac{1}{C - 1} \sum_{k} \max\left(0,\; h_k - \frac{|\mathcal{C}_k|}{n}\right), \qquad
        h_k = \frac{\sum_{v \in \mathcal{C}_k} |\{u \in \mathcal{N}_v : y_u = k\}|}
        {\sum_{v \in \mathcal{C}_k} |\mathcal{N}_v|},

    from `"Large Scale Learning on Non-Homophilous Graphs" <https://arxiv.org/abs/2110.14446>`_ (Lim et al. 2021).
    :math:`n` counts the nodes with a known label, :math:`C` the classes that occur among them; a class without edges
    contributes nothing.

    Args:
        graph: The graph.
        labels: Class indices ``[num_nodes]``, -1 if unknown; at least two classes.

    Example:
        >>> import torch
        >>> from unifilter import Graph, class_homophily
        >>> pairs = Graph.from_edges(torch.tensor([[0, 2], [1, 3]]))
        >>> class_homophily(pairs, torch.tensor([0, 0, 1, 1]))  # two classes, no edge between them
        1.0
    """
    known = _classes(graph, labels)
    edges = _known_edges(graph, known)
    size = np.bincount(known[known >= 0])
    num_classes = int((size > 0).sum())
    if num_classes < 2:
        raise ValueError("class homophily compares classes, but all known labels are equal: pass at least two classes")
    degree, same = edges.per_class(edges.degree), edges.per_class(edges.same_degree)
    excess = same / np.maximum(degree, 1) - size / size.sum()
    return float(np.maximum(excess, 0).sum() / (num_classes - 1))


def adjusted_homophily(graph: Graph, labels: Labels) -> float:
    r"""Edge homophily relative to that of random edges between nodes of the same degrees,

    .. math:: \frac{h - \sum_k p_k^2}{1 - \sum_k p_k^2}, \qquad
        p_k = \frac{1}{2 |\mathcal{E}|} \sum_{v : y_v = k} |\mathcal{N}_v|,

    from `"Characterizing Graph Datasets for Node Classification" <https://arxiv.org/abs/2209.06177>`_ (Platonov et al.
    2022). It is 1 if every edge joins nodes of the same class, 0 if labels and edges are unrelated, and can be
    negative.

    Args:
        graph: The graph.
        labels: Class indices ``[num_nodes]``, -1 if unknown; at least two classes must have edges.

    Example:
        >>> import torch
        >>> from unifilter import Graph, adjusted_homophily
        >>> cycle = Graph.from_edges(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
        >>> adjusted_homophily(cycle, torch.tensor([0, 0, 1, 1])), adjusted_homophily(cycle, torch.tensor([0, 1, 0, 1]))
        (0.0, -1.0)
    """
    edges = _known_edges(graph, _classes(graph, labels))
    by_chance = float(((edges.per_class(edges.degree) / edges.degree.sum()) ** 2).sum())
    if by_chance == 1.0:
        raise ValueError(
            "adjusted homophily needs at least two classes, but every edge joins nodes of one and the same class: "
            "pass labels with at least two classes that have edges"
        )
    return (edges.homophily - by_chance) / (1 - by_chance)


class HomophilyEstimate(float):
    """An edge homophily estimated from a sample of nodes. It is a float, usable wherever a homophily is expected.

    Attributes:
        standard_error: Standard error of the estimate as a value for the whole graph.
        num_edges: Number of edges it is based on.
    """

    standard_error: float
    num_edges: int

    def __new__(cls, value: float, standard_error: float, num_edges: int) -> HomophilyEstimate:
        estimate = super().__new__(cls, value)
        estimate.standard_error = standard_error
        estimate.num_edges = num_edges
        return estimate

    def __getnewargs__(self) -> tuple[float, float, int]:  # type: ignore[override]  # float's own has no error to keep
        return float(self), self.standard_error, self.num_edges

    def __repr__(self) -> str:
        # Enough decimals to show the first digit of the error.
        decimals = max(2, -math.floor(math.log10(self.standard_error))) if self.standard_error > 0 else 4
        return (
            f"{type(self).__name__}({self:.{decimals}f} ± {self.standard_error:.{decimals}f} "
            f"from {self.num_edges:,} edge{'s' * (self.num_edges != 1)})"
        )

    def __str__(self) -> str:
        return float.__repr__(self)


def estimate_homophily(graph: Graph, labels: Labels, train: NodeIndex) -> HomophilyEstimate:
    r"""Estimate the edge homophily from the training labels alone, with its standard error.

    Only edges whose two ends are training nodes with a known label are counted. Other labels are never used.

    **The standard error** refers to the homophily of the whole graph, for training nodes drawn at random, a share
    :math:`p` of all nodes. Of the :math:`M` edges counted, :math:`m_v` are at node :math:`v`, and :math:`s_v` of these
    join nodes of the same class. The variance is

    .. math:: (1-p)^2 B + (1-p) \max(0,\; J - 2 (1-p) B), \qquad B = \frac{h (1-h)}{M}, \qquad
        J = \sum_v \left( \frac{s_v - h m_v}{M - m_v} \right)^2.

    :math:`B` is the binomial variance of :math:`M` edges. By itself it is too small, because edges share nodes, and
    drawing a node draws all its edges at once. :math:`J` is the jackknife: each term is the change of the estimate when
    node :math:`v` is left out. Drawing without replacement multiplies it by :math:`1 - p`. In addition, an edge is
    counted when both its ends are drawn, and the jackknife counts this chance once from each end. Its expectation
    therefore contains :math:`2 (1-p)^2 B` where the true variance has :math:`(1-p)^2 B`, so one of the two is
    subtracted; otherwise the error would be up to 1.4 times too large on sparse graphs with few training nodes.

    The error is 0 if every node is a training node, and also, however few they are, if all counted edges agree. With a
    few dozen edges or less it tends to be too small.

    Args:
        graph: The graph.
        labels: Class indices ``[num_nodes]``, -1 if unknown.
        train: The training nodes, a bool mask ``[num_nodes]`` or node indices.

    Example:
        >>> import torch
        >>> from unifilter import Graph, estimate_homophily
        >>> cycle = Graph.from_edges(torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]]))
        >>> estimate_homophily(cycle, torch.tensor([0, 0, 0, 1, 1, 1]), train=[0, 1, 2, 3])
        HomophilyEstimate(0.67 ± 0.47 from 3 edges)
    """
    labeled = _classes(graph, labels)
    known = as_node_mask(train, graph.num_nodes, "train") & (labeled >= 0)
    edges = _known_edges(
        graph,
        np.where(known, labeled, -1),
        nothing="no edge joins two training nodes with known labels, so homophily cannot be estimated: "
        "pass a value instead, for example homophily=0.5",
    )
    num_edges, homophily = len(edges.same), edges.homophily
    # A node with all the edges (a star) leaves none when it is left out. Its numerator is 0, so any divisor will do.
    change = (edges.same_degree - homophily * edges.degree) / np.maximum(num_edges - edges.degree, 1)
    left_out = 1 - float(known.mean())
    binomial = homophily * (1 - homophily) / num_edges
    nodes = max(0.0, float((change**2).sum()) - 2 * left_out * binomial)
    variance = left_out**2 * binomial + left_out * nodes
    return HomophilyEstimate(homophily, math.sqrt(variance), num_edges)


def _classes(graph: Graph, labels: Any) -> np.ndarray:
    """Class indices without gaps. The measures do not depend on how classes are numbered."""
    return consecutive_labels(labels, graph.num_nodes)[0]


class _KnownEdges(NamedTuple):
    """The edges with known labels at both ends."""

    labels: np.ndarray  # [num_nodes], -1 if unknown
    same: np.ndarray  # [edges], whether both ends have the same class
    degree: np.ndarray  # [num_nodes], number of these edges at each node
    same_degree: np.ndarray  # [num_nodes], number of these edges whose ends have the same class

    @property
    def homophily(self) -> float:
        return float(self.same.mean())

    def per_class(self, count: np.ndarray) -> np.ndarray:
        known = self.labels >= 0
        return np.bincount(self.labels[known], weights=count[known])


def _known_edges(
    graph: Graph,
    labels: np.ndarray,
    nothing: str = "no edge has a known label at both ends, so homophily is not defined: pass more labels",
) -> _KnownEdges:
    same = [np.empty(0, dtype=bool)]
    degree, same_degree = np.zeros((2, len(labels)), dtype=np.int64)
    for block, _ in graph.edge_blocks():
        ends = block.cpu().numpy()
        ends = ends[:, (labels[ends] >= 0).all(axis=0)]
        alike = labels[ends[0]] == labels[ends[1]]
        same.append(alike)
        for count, counted in ((degree, ends), (same_degree, ends[:, alike])):
            found = np.bincount(counted.ravel())
            count[: len(found)] += found
    if not any(map(len, same)):
        raise ValueError(nothing)
    return _KnownEdges(labels, np.concatenate(same), degree, same_degree)
