"""Edge lists from the types that users have graphs in: scipy matrices, networkx graphs and PyG ``Data``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    import networkx as nx
    from torch import Tensor
    from torch_geometric.data import Data


class EdgeList(NamedTuple):
    """The first arguments of :meth:`unifilter.Graph.from_edges`.

    Attributes:
        edge_index: Integers of shape ``[2, num_listed_edges]``.
        num_nodes: Number of nodes.
        edge_weight: One number per listed edge, or ``None``.
    """

    edge_index: Tensor | np.ndarray
    num_nodes: int | None
    edge_weight: Tensor | np.ndarray | None


def edges_of_scipy(adjacency: Any) -> EdgeList:
    """See :meth:`unifilter.Graph.from_scipy`."""
    entries = sp.coo_array(adjacency)
    if len(entries.shape) != 2 or entries.shape[0] != entries.shape[1]:
        raise ValueError(f"an adjacency must be square, but this one is {entries.shape}: pass an n x n matrix")
    return EdgeList(np.stack([entries.row, entries.col]), entries.shape[0], entries.data)


def edges_of_networkx(graph: nx.Graph, weight: str | None, direction: str) -> EdgeList:
    """See :meth:`unifilter.Graph.from_networkx`."""
    if direction != "undirected" and not graph.is_directed():
        raise ValueError(
            f"direction is {direction!r}, but this networkx graph has no directed edges: pass a DiGraph, or leave "
            "direction out"
        )
    number = {node: index for index, node in enumerate(graph.nodes)}
    ends = np.array([(number[u], number[v]) for u, v in graph.edges()], dtype=np.int64).reshape(-1, 2)
    weights = (
        None
        if weight is None
        else np.array([value for *_, value in graph.edges(data=weight, default=1)], dtype=np.float64)
    )
    return EdgeList(ends.T, len(number), weights)


def edges_of_data(data: Data) -> EdgeList:
    """See :meth:`unifilter.Graph.from_data`."""
    if getattr(data, "edge_index", None) is None:
        raise ValueError("this Data object has no edge_index: set data.edge_index (a [2, num_edges] tensor) first")
    return EdgeList(data.edge_index, data.num_nodes, getattr(data, "edge_weight", None))
