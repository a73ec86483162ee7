"""Homophily of regression targets and of label sets.

The paper defines homophily for classes. These two measures extend it, so that the angle of the heterophily basis can be
set for regression and for several labels per node. As in :mod:`unifilter.graph.homophily`, weights are ignored, and an
edge counts only if the targets at both ends are known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from unifilter.graph.graph import Graph

_REMEDY = "so homophily cannot be estimated: pass a value instead, for example homophily=0.5"


def value_homophily(graph: Graph, values: Any) -> float:
    r"""Similarity of the numbers at neighboring nodes,

    .. math:: h = \frac{1 + r}{2},

    where :math:`r` is the correlation of the two ends of an edge, each edge counted in both directions (Newman's
    numeric assortativity, `"Mixing patterns in networks" <https://arxiv.org/abs/cond-mat/0209450>`_). It is 1 if
    neighbors have the same value, 0.5 if their values are unrelated, and 0 if they are opposite. For two classes with
    equally many edge ends each, coded as two numbers, it equals the edge homophily. This is our extension, not part of
    the paper.

    Args:
        graph: The graph.
        values: ``[num_nodes]`` or ``[num_nodes, targets]``, NaN if unknown; the mean over several targets is returned.

    Example:
        >>> import torch
        >>> from unifilter import Graph
        >>> from unifilter.graph import value_homophily
        >>> path = Graph.from_edges(torch.tensor([[0, 1, 2], [1, 2, 3]]))
        >>> value_homophily(path, [1.0, -1.0, 1.0, -1.0])
        0.0
    """
    table = _one_row_per_node(graph, values, "values")
    if np.isinf(table).any():
        node = int(np.argwhere(np.isinf(table))[0, 0])
        raise ValueError(f"the value of node {node} is infinite: correct it, or set it to NaN if it is unknown")
    found = [one for one in (_correlation(graph, column) for column in table.T) if one is not None]
    if not found:
        raise ValueError(f"no edge joins two nodes with known targets, or all such targets are equal, {_REMEDY}")
    return float(np.clip((1 + np.mean(found)) / 2, 0.0, 1.0))


def label_set_homophily(graph: Graph, targets: Any) -> float:
    r"""The mean Jaccard similarity of the label sets of neighbors,

    .. math:: h = \frac{1}{|\mathcal{E}'|} \sum_{(u, v) \in \mathcal{E}'} \frac{|Y_u \cap Y_v|}{|Y_u \cup Y_v|},

    from `"Multi-label Node Classification On Graph-Structured Data" <https://arxiv.org/abs/2304.10398>`_ (Zhao et al.
    2023). :math:`\mathcal{E}'` are the edges with a label at one end at least. For one label per node it equals the
    edge homophily.

    Args:
        graph: The graph.
        targets: 1 if a node has a label, otherwise 0, ``[num_nodes, labels]``; NaN if unknown. In a node with some
            known labels, NaN counts as 0.

    Example:
        >>> import torch
        >>> from unifilter import Graph
        >>> from unifilter.graph import label_set_homophily
        >>> path = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
        >>> label_set_homophily(path, [[1, 0], [1, 1], [1, 1]])  # the mean of 0.5 and 1
        0.75
    """
    table = _one_row_per_node(graph, targets, "targets")
    wrong = np.argwhere(~(np.isnan(table) | (table == 0) | (table == 1)))
    if len(wrong):
        node, label = wrong[0]
        raise ValueError(f"label {label} of node {node} is {table[node, label]:g}: pass 1, 0, or NaN if unknown")
    known = np.isfinite(table).any(axis=1)
    sets = table == 1
    sources, ends = _known_ends(graph, known)
    union = (sets[sources] | sets[ends]).sum(axis=1)
    common = (sets[sources] & sets[ends]).sum(axis=1)
    labeled = union > 0
    if not labeled.any():
        raise ValueError(f"no edge joins two nodes with known labels, at least one of which has a label, {_REMEDY}")
    return float((common[labeled] / union[labeled]).mean())


def _one_row_per_node(graph: Graph, values: Any, name: str) -> np.ndarray:
    """Values as float64 ``[num_nodes, columns]``."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim not in (1, 2) or len(table) != graph.num_nodes:
        raise ValueError(
            f"{name} must have one row per node, {graph.num_nodes} in all, but has shape {list(table.shape)}"
        )
    return table.reshape(len(table), -1)


def _correlation(graph: Graph, values: np.ndarray) -> float | None:
    """Correlation of the two ends of edges; ``None`` without edges, or if all values are equal."""
    sources, ends = _known_ends(graph, ~np.isnan(values))
    if len(sources) == 0:
        return None
    both = np.concatenate([values[sources], values[ends]])
    # min == max is checked because rounding can make the variance of equal numbers nonzero.
    if both.min() == both.max():
        return None
    spread, half = both - both.mean(), len(sources)
    return float((spread[:half] * spread[half:]).mean() / (spread**2).mean())


def _known_ends(graph: Graph, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    ends = graph.edges()[0].cpu().numpy()
    ends = ends[:, known[ends].all(axis=0)]
    return ends[0], ends[1]
