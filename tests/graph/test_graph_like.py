"""A graph in any form that users have one in, and what is none."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import graphs
from torch_geometric.data import Data

from unifilter import Graph
from unifilter.graph import SelfLoops, as_graph


def forms(graph: Graph) -> dict[str, Any]:
    """The same graph in every form; an edge list has to be told its number of nodes."""
    edges, weights = graph.edges()
    edges_and_weights = zip(edges.T.tolist(), weights.tolist(), strict=True)
    network = nx.Graph()
    network.add_nodes_from(range(graph.num_nodes))
    network.add_weighted_edges_from((u, v, weight) for (u, v), weight in edges_and_weights)
    adjacency = graph.with_self_loops("remove").adjacency(torch.float64).to_dense().numpy()
    data = Data(edge_index=edges, edge_weight=weights, num_nodes=graph.num_nodes)
    return {"graph": graph, "networkx": network, "scipy": sp.csr_array(adjacency), "numpy": adjacency, "data": data}


@given(graphs(), st.sampled_from(["remove", "add"]))
def test_every_form_is_the_same_graph(graph: Graph, self_loops: SelfLoops) -> None:
    expected = graph.with_self_loops(self_loops).adjacency(torch.float64).to_dense()
    edges, weights = graph.edges()
    for name, form in forms(graph).items():
        if name == "numpy" and graph.num_nodes == 2:
            continue  # it could be an edge list
        found = as_graph(form, self_loops=self_loops)
        assert found.self_loops == self_loops
        torch.testing.assert_close(found.adjacency(torch.float64).to_dense(), expected, msg=name)
    if graph.num_edges != 2:  # as an array it could be an adjacency
        for listed, weight in ((edges, weights), (edges.numpy(), weights.numpy())):
            found = as_graph(listed, graph.num_nodes, weight, self_loops)
            torch.testing.assert_close(found.adjacency(torch.float64).to_dense(), expected)


def test_a_graph_that_is_as_wanted_is_itself() -> None:
    graph = Graph.from_edges(np.array([[0, 1], [1, 2]]))
    assert as_graph(graph) is graph
    assert as_graph(graph, 3) is graph
    assert as_graph(graph, self_loops="add") is not graph


def test_an_edge_list_of_two_edges_is_one_where_it_is_a_tensor() -> None:
    assert as_graph(torch.tensor([[0, 1], [1, 2]])).num_edges == 2
    with pytest.raises(
        ValueError,
        match=r"a 2 x 2 array can be an edge list or an adjacency: use Graph\.from_edges\(\.\.\.\) or",
    ):
        as_graph(np.array([[0, 1], [1, 2]]))


@pytest.mark.parametrize("value", ["cora", 3, None, [(0, 1)], {0: [1]}], ids=repr)
def test_what_is_no_graph_is_refused(value: Any) -> None:
    with pytest.raises(
        ValueError,
        match=rf"a graph must be a Graph, .* or an edge list \[2, num_edges\], not {type(value).__name__}: build one",
    ):
        as_graph(value)


def test_weights_go_with_an_edge_list_alone() -> None:
    weight = np.ones(2)
    for form in forms(Graph.from_edges(np.array([[0, 1], [1, 2]]))).values():
        kind = "an adjacency" if isinstance(form, np.ndarray) else f"a {type(form).__name__}"
        with pytest.raises(ValueError, match=f"edge_weight belongs to an edge list, but {kind} has its own weights"):
            as_graph(form, edge_weight=weight)


def test_features_of_another_number_of_nodes_are_refused() -> None:
    for form in forms(Graph.from_edges(np.array([[0, 1], [1, 2]]))).values():
        with pytest.raises(ValueError, match="the graph has 3 nodes but the features have 4 rows: pass one row per"):
            as_graph(form, 4)


def test_an_adjacency_is_square() -> None:
    for adjacency in (np.ones((3, 4)), sp.csr_array(np.ones((3, 4)))):
        with pytest.raises(
            ValueError, match=r"an adjacency must be square, but this one is \(3, 4\): pass an n x n matrix"
        ):
            as_graph(adjacency)


def test_a_data_without_edges_is_refused() -> None:
    with pytest.raises(ValueError, match="this Data object has no edge_index: set data.edge_index"):
        as_graph(Data(x=torch.ones(3, 2)))
