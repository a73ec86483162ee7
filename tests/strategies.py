"""Random graphs and signals for property tests."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import strategies as st

from unifilter import Graph


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 24, weighted: bool | None = None) -> Graph:
    """Any graph: disconnected, with isolated nodes, bipartite, complete, weighted or not."""
    nodes = draw(st.integers(1, max_nodes))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    edges = random.integers(0, nodes, size=(2, draw(st.integers(0, 3 * nodes))))
    has_weights = draw(st.booleans()) if weighted is None else weighted
    weight = random.uniform(0.1, 3.0, size=edges.shape[1]) if has_weights else None
    return Graph.from_edges(
        edges, num_nodes=nodes, edge_weight=weight, self_loops=draw(st.sampled_from(["remove", "add"]))
    )


def signals(graph: Graph, channels: int, seed: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Normal columns, every third of them zero on half of the nodes."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(graph.num_nodes, channels, generator=generator, dtype=torch.float64)
    x[: graph.num_nodes // 2, ::3] = 0
    return x.to(dtype)


def connected_graph(nodes: int = 60, seed: int = 0) -> Graph:
    """A connected graph with a triangle, so not bipartite: a ring with random chords."""
    random = np.random.default_rng(seed)
    ring = np.stack([np.arange(nodes), (np.arange(nodes) + 1) % nodes])
    chords = random.integers(0, nodes, size=(2, 2 * nodes))
    return Graph.from_edges(np.concatenate([ring, chords, [[0], [2]]], axis=1), num_nodes=nodes)


@st.composite
def edge_lists(draw: st.DrawFn) -> tuple[int, np.ndarray, np.ndarray]:
    """The number of nodes, the edges ``[2, listed]`` and their weights, some of them zero."""
    num_nodes = draw(st.integers(1, 12))
    edges = draw(st.lists(st.tuples(*[st.integers(0, num_nodes - 1)] * 2), max_size=40))
    weights = draw(st.lists(st.sampled_from([0.0, 0.25, 1.0, 3.0]), min_size=len(edges), max_size=len(edges)))
    return num_nodes, np.array(edges, dtype=np.int64).reshape(-1, 2).T, np.array(weights, dtype=np.float64)
