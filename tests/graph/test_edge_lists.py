from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from unifilter.graph import Duplicates, Graph


def dense(graph: Graph) -> list[list[float]]:
    return graph.adjacency().to_dense().tolist()


def test_every_way_in_gives_the_same_graph() -> None:
    edges = np.array([[0, 0, 1, 3], [1, 2, 2, 4]])
    weights = np.array([0.5, 2.0, 1.0, 3.0])
    expected = Graph.from_edges(edges, num_nodes=6, edge_weight=weights)
    adjacency = sp.coo_array((weights, edges), shape=(6, 6))
    network = nx.Graph()
    network.add_nodes_from(range(6))
    network.add_weighted_edges_from(zip(*edges.tolist(), weights.tolist(), strict=True))
    data = Data(edge_index=torch.from_numpy(edges), edge_weight=torch.from_numpy(weights), num_nodes=6)
    for graph in (
        Graph.from_scipy(adjacency),
        Graph.from_scipy((adjacency + adjacency.T).tocsr()),
        Graph.from_scipy(sp.csc_matrix(adjacency)),
        Graph.from_networkx(network),
        Graph.from_networkx(network.to_directed()),
        Graph.from_data(data),
    ):
        assert repr(graph) == repr(expected)
        assert dense(graph) == dense(expected)
    unweighted = Graph.from_edges(edges, num_nodes=6)
    assert dense(Graph.from_networkx(network, weight=None)) == dense(unweighted)
    assert dense(Graph.from_data(Data(edge_index=torch.from_numpy(edges), num_nodes=6))) == dense(unweighted)


def test_networkx_nodes_are_numbered_in_order_and_weights_default_to_one() -> None:
    network = nx.Graph()
    network.add_nodes_from(["c", "a", "b"])
    network.add_edge("a", "b", weight=2.0)
    network.add_edge("c", "a")
    assert dense(Graph.from_networkx(network)) == [[0, 1, 0], [1, 0, 2], [0, 2, 0]]


@pytest.mark.parametrize(("duplicates", "merged"), [("sum", 5.0), ("max", 3.0)])
def test_parallel_edges_of_a_multigraph_are_merged(duplicates: Duplicates, merged: float) -> None:
    network = nx.MultiGraph()
    network.add_weighted_edges_from([(0, 1, 2.0), (1, 0, 3.0)])
    assert dense(Graph.from_networkx(network, duplicates=duplicates)) == [[0, merged], [merged, 0]]
