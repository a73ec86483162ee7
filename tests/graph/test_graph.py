from __future__ import annotations

import pickle
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import edge_lists
from torch_geometric.data import Data

from unifilter.graph import Duplicates, EdgeFacts, Graph, SelfLoops

EdgeList = tuple[int, np.ndarray, np.ndarray]


def dense(graph: Graph) -> list[list[float]]:
    return graph.adjacency().to_dense().tolist()


def test_direction_is_dropped_and_duplicates_are_one_edge() -> None:
    graph = Graph.from_edges(torch.tensor([[0, 0, 1, 2], [1, 1, 0, 1]]))
    assert dense(graph) == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert graph.num_edges == 2
    assert graph.weights is None


@pytest.mark.parametrize(("duplicates", "merged"), [("sum", 6.0), ("max", 4.0)])
def test_weights_of_duplicates_are_merged(duplicates: Duplicates, merged: float) -> None:
    edges = np.array([[0, 1, 0, 1, 0], [1, 2, 1, 0, 1]])
    weights = np.array([1.0, 0.5, 4.0, 2.0, 1.0])
    graph = Graph.from_edges(edges, edge_weight=weights, duplicates=duplicates)
    assert dense(graph) == [[0, merged, 0], [merged, 0, 0.5], [0, 0.5, 0]]
    assert graph.num_edges == 2


def test_the_larger_weight_of_two_directions_counts() -> None:
    graph = Graph.from_edges(np.array([[0, 1], [1, 0]]), edge_weight=np.array([2.0, 3.0]))
    assert dense(graph) == [[0, 3], [3, 0]]


def test_self_loops_are_removed_or_one_is_added_to_every_node() -> None:
    edges = np.array([[0, 0, 1], [0, 1, 1]])
    removed = Graph.from_edges(edges, num_nodes=3, edge_weight=np.array([5.0, 2.0, 5.0]))
    assert dense(removed) == [[0, 2, 0], [2, 0, 0], [0, 0, 0]]
    added = Graph.from_edges(edges, num_nodes=3, edge_weight=np.array([5.0, 2.0, 5.0]), self_loops="add")
    assert dense(added) == [[1, 2, 0], [2, 1, 0], [0, 0, 1]]
    assert removed.num_edges == added.num_edges == 1
    assert removed.isolated.tolist() == added.isolated.tolist() == [False, False, True]
    assert removed.degree.tolist() == [2, 2, 0]
    assert added.degree.tolist() == [3, 3, 1]


def test_an_edge_of_weight_zero_is_no_edge() -> None:
    graph = Graph.from_edges(np.array([[0, 1], [1, 2]]), edge_weight=np.array([0.0, 2.0]))
    assert dense(graph) == [[0, 0, 0], [0, 0, 2], [0, 2, 0]]
    assert graph.num_edges == 1
    assert graph.isolated.tolist() == [True, False, False]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_and_their_dtype_are_kept(dtype: torch.dtype) -> None:
    graph = Graph.from_edges(torch.tensor([[2, 0], [1, 1]]), edge_weight=torch.tensor([0.3, 0.7], dtype=dtype))
    edges, weights = graph.edges()
    assert edges.tolist() == [[0, 1], [1, 2]]
    assert torch.equal(weights, torch.tensor([0.7, 0.3], dtype=dtype))


def test_weights_of_one_are_not_stored() -> None:
    edges = torch.tensor([[0, 1], [1, 2]])
    graph = Graph.from_edges(edges, edge_weight=torch.ones(2))
    assert graph.weights is None
    assert graph.edges()[1].tolist() == [1, 1]


def test_repr_shows_the_options() -> None:
    edges = np.array([[0, 1], [1, 2]])
    assert repr(Graph.from_edges(edges, num_nodes=4)) == (
        "Graph(num_nodes=4, num_edges=2, weighted=False, self_loops='remove', duplicates='sum', isolated=1)"
    )
    other = Graph.from_edges(edges, edge_weight=np.array([1.0, 2.0]), self_loops="add", duplicates="max")
    assert repr(other) == (
        "Graph(num_nodes=3, num_edges=2, weighted=True, self_loops='add', duplicates='max', isolated=0)"
    )


@given(edge_lists(), st.sampled_from(["remove", "add"]), st.sampled_from(["sum", "max"]))
def test_any_edge_list_gives_a_symmetric_graph(case: EdgeList, self_loops: SelfLoops, duplicates: Duplicates) -> None:
    num_nodes, edges, weights = case
    graph = Graph.from_edges(
        edges, num_nodes=num_nodes, edge_weight=weights, self_loops=self_loops, duplicates=duplicates
    )
    directed = np.zeros((num_nodes, num_nodes))
    for source, target, weight in zip(*edges, weights, strict=True):
        listed = directed[source, target]
        directed[source, target] = listed + weight if duplicates == "sum" else max(listed, weight)
    expected = np.maximum(directed, directed.T)
    np.fill_diagonal(expected, self_loops == "add")
    assert dense(graph) == expected.tolist()
    np.fill_diagonal(expected, 0)
    assert graph.num_edges == np.count_nonzero(expected) // 2
    assert graph.isolated.tolist() == (expected.sum(axis=1) == 0).tolist()


def test_to_another_device_keeps_the_options() -> None:
    graph = Graph.from_edges(
        np.array([[0], [1]]), edge_weight=np.array([2.0]), num_nodes=3, self_loops="add", duplicates="max"
    )
    moved = graph.to("cpu")
    assert repr(moved) == repr(graph)
    assert dense(moved) == dense(graph)
    assert moved.device == torch.device("cpu")


def test_bad_graphs_are_refused() -> None:
    edges = np.array([[0, 1], [1, 2]])
    with pytest.raises(ValueError, match=r"edge 1 \(1 -> 2\) points to a node that does not exist.*larger num_nodes"):
        Graph.from_edges(edges, num_nodes=2)
    with pytest.raises(ValueError, match=r"the weight of edge 1 \(1 -> 2\) is negative \(-2\.0\)"):
        Graph.from_edges(edges, edge_weight=np.array([1.0, -2.0]))
    with pytest.raises(ValueError, match="the graph is empty: it needs at least one node, pass num_nodes"):
        Graph.from_networkx(nx.Graph())
    with pytest.raises(ValueError, match="self_loops must be one of 'remove', 'add', 'keep', not 'drop'"):
        Graph.from_edges(edges, self_loops="drop")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="duplicates must be one of 'sum', 'max', not 'mean'"):
        Graph.from_edges(edges, duplicates="mean")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"an adjacency must be square, but this one is \(2, 3\): pass an n x n"):
        Graph.from_scipy(sp.coo_array(np.ones((2, 3))))
    with pytest.raises(ValueError, match="has no edge_index: set data.edge_index"):
        Graph.from_data(Data(x=torch.ones(3, 1)))
    with pytest.raises(ValueError, match="has no edge_index: set data.edge_index"):
        Graph.from_data(SimpleNamespace(num_nodes=3))


@given(edge_lists(), st.booleans(), st.sampled_from(["remove", "add"]), st.sampled_from(["sum", "max"]))
def test_facts_of_the_edges_by_counting(
    listed: EdgeList, weighted: bool, self_loops: SelfLoops, duplicates: Duplicates
) -> None:
    nodes, edges, weights = listed
    graph = Graph.from_edges(edges, nodes, weights if weighted else None, self_loops=self_loops, duplicates=duplicates)
    kept = [
        (u, v) for (u, v), weight in zip(edges.T.tolist(), weights, strict=True) if u != v and (weight or not weighted)
    ]
    assert graph.edge_facts == EdgeFacts(
        given=edges.shape[1],
        one_directional=sum((v, u) not in kept for u, v in set(kept)),
        duplicates=len(kept) - len(set(kept)),
        self_loops=sum(u == v for u, v in edges.T.tolist()),
        weighted=graph.weights is not None,
    )


def test_facts_of_the_edges_stay_and_say_nothing_of_the_content() -> None:
    once, twice = (Graph.from_edges(np.array(edges)) for edges in ([[0, 1], [1, 2]], [[0, 1, 1, 2], [1, 0, 2, 1]]))
    assert once.edge_facts != twice.edge_facts
    assert once.checksum == twice.checksum
    for same in (pickle.loads(pickle.dumps(twice)), twice.to("cpu"), twice.with_self_loops("add")):
        assert same.edge_facts == twice.edge_facts
    bare = Graph(twice.row_start, twice.neighbors, None, self_loops="remove", duplicates="sum")
    assert bare.edge_facts is None
    assert bare.to("meta").edge_facts is None
