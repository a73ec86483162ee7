"""Conversion of graphs of any supported type to :class:`Graph`."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from torch import Tensor

from unifilter.graph.adjacency import Direction, SelfLoops
from unifilter.graph.graph import Graph


def as_graph(
    graph: Any,
    num_nodes: int | None = None,
    edge_weight: Any = None,
    self_loops: SelfLoops = "remove",
    direction: Direction | None = None,
) -> Graph:
    """Convert a graph of any supported type to a :class:`Graph`.

    Args:
        graph: A :class:`Graph`, a PyG ``Data``, a networkx graph, a square scipy sparse matrix or numpy array (an
            adjacency), or an edge list ``[2, num_edges]`` as a tensor or numpy array.
        num_nodes: Number of nodes of an edge list. Default: one more than the largest index.
        edge_weight: Weights of an edge list. The other types have their own.
        self_loops: ``"remove"`` self-loops, or ``"add"`` one to every node.
        direction: As in :meth:`Graph.from_edges`. Default: the direction of a :class:`Graph`, and undirected for other
            types.

    Example:
        >>> import networkx
        >>> from unifilter.graph import as_graph
        >>> as_graph(networkx.path_graph(3))
        Graph(num_nodes=3, num_edges=2, weighted=False, self_loops='remove', duplicates='sum', isolated=0)
    """
    listed = isinstance(graph, Tensor) or (isinstance(graph, np.ndarray) and _is_edge_list(graph))
    kinds: dict[str, Any] = {"self_loops": self_loops, "direction": direction or "undirected"}
    if isinstance(graph, Graph):
        if direction not in (None, graph.direction):
            raise ValueError(
                f"this graph has direction={graph.direction!r}, but direction={direction!r} is needed: build it from "
                f"its edges with Graph.from_edges(..., direction={direction!r})"
            )
        found = graph.with_self_loops(self_loops)
    elif listed:
        found = Graph.from_edges(graph, num_nodes, edge_weight, **kinds)
    elif sp.issparse(graph) or isinstance(graph, np.ndarray):
        found = Graph.from_scipy(graph, **kinds)
    elif hasattr(graph, "edge_index"):
        found = Graph.from_data(graph, **kinds)
    elif all(hasattr(graph, name) for name in ("nodes", "edges", "adj")):
        found = Graph.from_networkx(graph, **kinds)
    else:
        raise ValueError(
            f"a graph must be a Graph, a PyG Data, a networkx graph, a scipy sparse matrix or an edge list [2, "
            f"num_edges], not {type(graph).__name__}: build one with Graph.from_edges"
        )
    if edge_weight is not None and not listed:
        kind = "an adjacency" if isinstance(graph, np.ndarray) else f"a {type(graph).__name__}"
        raise ValueError(
            f"edge_weight belongs to an edge list, but {kind} has its own weights: leave it out, "
            "or pass Graph.from_edges(edge_index, edge_weight=...)"
        )
    if num_nodes is not None and found.num_nodes != num_nodes:
        raise ValueError(
            f"the graph has {found.num_nodes} nodes but the features have {num_nodes} rows: pass one row per node, in "
            "the order of the node indices"
        )
    return found


def _is_edge_list(array: np.ndarray) -> bool:
    if array.shape == (2, 2):
        raise ValueError(
            "a 2 x 2 array can be an edge list or an adjacency: use Graph.from_edges(...) or "
            "Graph.from_scipy(...) to say which"
        )
    return array.ndim == 2 and array.shape[0] == 2
