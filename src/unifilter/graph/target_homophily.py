"""Homophily of answers that are not one class per node: of numbers, and of sets of labels.

The paper defines homophily for classes. These two extend it, so that the angle of the heterophily basis can be set for
regression and for several labels per node. As in :mod:`unifilter.graph.homophily` edges count, not their weights, and
an edge counts only when both of its ends are known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from unifilter.graph.graph import Graph

_REMEDY = "so homophily cannot be estimated: pass a value instead, for example homophily=0.5"


def value_homophily(graph: Graph, values: Any) -> float:
    r"""How alike the numbers of neighbors are,

    .. math:: h = \frac{1 + r}{2},

    where :math:`r` is the correlation of the two ends of an edge, each edge counted in both directions (Newman's
    numeric assortativity, `"Mixing patterns in networks" <https://arxiv.org/abs/cond-mat/0209450>`_). It is 1 when
    neighbors have the same value, a half when they have nothing to do with each other, and 0 when they lie opposite
    each other. For two classes with equally many edge ends each, coded as two numbers, it is the edge homophily. This
    is our extension, not the paper's.

    Args:
        graph: The graph.
        values: ``[num_nodes]`` or ``[num_nodes, targets]``, NaN where unknown; of several targets the mean.

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
        raise ValueError(f"the value of node {node} is infinite: correct it, or make it NaN, which means unknown")
    found = [one for one in (_correlation(graph, column) for column in table.T) if one is not None]
    if not found:
        raise ValueError(f"no edge joins two nodes with known targets, or all such nodes have the same, {_REMEDY}")
    return float(np.clip((1 + np.mean(found)) / 2, 0.0, 1.0))


def label_set_homophily(graph: Graph, targets: Any) -> float:
    r"""The mean Jaccard similarity of the label sets of neighbors,

    .. math:: h = \frac{1}{|\mathcal{E}'|} \sum_{(u, v) \in \mathcal{E}'} \frac{|Y_u \cap Y_v|}{|Y_u \cup Y_v|},

    from `"Multi-label Node Classification On Graph-Structured Data" <https://arxiv.org/abs/2304.10398>`_ (Zhao et al.
    2023). :math:`\mathcal{E}'` are the edges with a label at one end at least. For one label per node it is the edge
    homophily.

    Args:
        graph: The graph.
        targets: 1 where a node has a label, else 0, ``[num_nodes, labels]``; NaN where unknown, which is taken for 0
            in a node that has some known labels.

    Example:
        >>> import torch
        >>> from unifilter import Graph
        >>> from unifilter.graph import label_set_homophily
        >>> path = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
        >>> label_set_homophily(path, [[1, 0], [1, 1], [1, 1]])  # a half, then 1
        0.75
    """
    table = _one_row_per_node(graph, targets, "targets")
    wrong = np.argwhere(~(np.isnan(table) | (table == 0) | (table == 1)))
    if len(wrong):
        node, label = wrong[0]
        raise ValueError(f"label {label} of node {node} is {table[node, label]:g}: pass 1, 0, or NaN where unknown")
    known = np.isfinite(table).any(axis=1)
    sets = table == 1
    sources, ends = _known_ends(graph, known)
    union = (sets[sources] | sets[ends]).sum(axis=1)
    common = (sets[sources] & sets[ends]).sum(axis=1)
    labeled = union > 0
    if not labeled.any():
        raise ValueError(f"no edge joins two nodes with known labels, one of them at least with a label, {_REMEDY}")
    return float((common[labeled] / union[labeled]).mean())


def _one_row_per_node(graph: Graph, values: Any, name: str) -> np.ndarray:
    """Float64 ``[num_nodes, columns]``."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim not in (1, 2) or len(table) != graph.num_nodes:
        raise ValueError(
            f"{name} must have one row per node, {graph.num_nodes} in all, not the shape {list(table.shape)}"
        )
    return table.reshape(len(table), -1)


def _correlation(graph: Graph, values: np.ndarray) -> float | None:
    """Of the two ends of an edge; ``None`` without edges, or where all ends have one value."""
    sources, ends = _known_ends(graph, ~np.isnan(values))
    if len(sources) == 0:
        return None
    both = np.concatenate([values[sources], values[ends]])
    # Not by their variance: the mean of equal numbers may differ from them by a rounding error.
    if both.min() == both.max():
        return None
    spread, half = both - both.mean(), len(sources)
    return float((spread[:half] * spread[half:]).mean() / (spread**2).mean())


def _known_ends(graph: Graph, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    ends = graph.edges()[0].cpu().numpy()
    ends = ends[:, known[ends].all(axis=0)]
    return ends[0], ends[1]
