"""Graphs whose edges have a direction."""

from __future__ import annotations

import copy
import pickle

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from unifilter import Graph, dirichlet_energy, edge_homophily, factorize
from unifilter.factorization.eigendecomposition import eigenpairs
from unifilter.graph import as_graph
from unifilter.nn import GPRGNN
from unifilter.nn.operators import neighbor_mean, neighbor_sum, propagation

# 0 -> 1, 0 -> 2, 1 -> 2, a loop at 2, and 3 alone.
EDGES = np.array([[0, 0, 1, 2], [1, 2, 2, 2]])
OUT = np.array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]])


@st.composite
def edge_lists(draw: st.DrawFn) -> tuple[int, np.ndarray]:
    nodes = draw(st.integers(1, 8))
    pair = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1))
    return nodes, np.array(draw(st.lists(pair, max_size=20)), dtype=np.int64).reshape(-1, 2).T


def dense(graph: Graph) -> np.ndarray:
    return graph.adjacency(torch.float64).to_dense().numpy()


def test_a_node_hears_from_those_it_points_to_or_from_those_that_point_to_it() -> None:
    out = Graph.from_edges(EDGES, 4, direction="out")
    assert np.array_equal(dense(out), OUT)
    assert np.array_equal(dense(Graph.from_edges(EDGES, 4, direction="in")), OUT.T)
    assert out.num_edges == 3
    assert out.isolated.tolist() == [False, False, False, True]
    assert out.degree.tolist() == [2, 1, 0, 0]
    assert repr(out) == (
        "Graph(num_nodes=4, num_edges=3, weighted=False, self_loops='remove', duplicates='sum', isolated=1, "
        "direction='out')"
    )


def test_loops_are_kept_where_that_is_asked_for_and_count_twice_when_another_is_added() -> None:
    kept = Graph.from_edges(EDGES, 4, direction="out", self_loops="keep")
    loop = np.diag([0, 0, 1, 0])
    assert np.array_equal(dense(kept), OUT + loop)
    assert kept.num_edges == 3
    assert kept.isolated.tolist() == [False, False, False, True]
    assert np.array_equal(dense(kept.with_self_loops("add")), OUT + loop + np.eye(4))
    assert np.array_equal(dense(kept.with_self_loops("remove")), OUT)
    assert kept.with_self_loops("keep") is kept
    undirected = Graph.from_edges(EDGES, 4, self_loops="keep")
    assert np.array_equal(dense(undirected), OUT + OUT.T + loop)
    assert undirected.num_edges == 3


@given(edge_lists(), st.sampled_from(["out", "in"]), st.sampled_from(["remove", "add", "keep"]))
def test_adjacency_and_operators_are_those_of_dense_algebra(edges: tuple, direction: str, self_loops: str) -> None:
    nodes, ends = edges
    expected = np.zeros((nodes, nodes))
    expected[ends[0], ends[1]] = 1
    if self_loops != "keep":
        np.fill_diagonal(expected, 1.0 if self_loops == "add" else 0.0)
    if direction == "in":
        expected = expected.T
    graph = Graph.from_edges(ends, nodes, direction=direction, self_loops=self_loops)
    assert np.array_equal(dense(graph), expected)
    degree = expected.sum(axis=1)
    with np.errstate(divide="ignore"):
        root, inverse = (np.where(degree > 0, degree**power, 0.0) for power in (-0.5, -1.0))
    x = torch.randn(nodes, 3, dtype=torch.float64, requires_grad=True)
    upstream = torch.randn(nodes, 3, dtype=torch.float64)
    for operator, matrix in (
        (neighbor_sum, expected),
        (neighbor_mean, inverse[:, None] * expected),
        (propagation, root[:, None] * expected * root),
    ):
        product = operator(graph, torch.float64) @ x
        (gradient,) = torch.autograd.grad(product, x, upstream)
        torch.testing.assert_close(product, torch.from_numpy(matrix) @ x, atol=1e-12, rtol=1e-12)
        torch.testing.assert_close(gradient, torch.from_numpy(matrix.T) @ upstream, atol=1e-12, rtol=1e-12)


@given(edge_lists(), st.sampled_from(["out", "in"]), st.sampled_from(["remove", "keep"]))
def test_edges_give_the_graph_again_and_reversed_edges_the_other_direction(
    edges: tuple, direction: str, self_loops: str
) -> None:
    nodes, ends = edges
    graph = Graph.from_edges(ends, nodes, direction=direction, self_loops=self_loops)
    again = Graph.from_edges(graph.edges()[0], nodes, direction=direction)
    assert again.checksum == graph.with_self_loops("remove").checksum
    other = "in" if direction == "out" else "out"
    mirrored = Graph.from_edges(ends[::-1], nodes, direction=other, self_loops=self_loops)
    assert torch.equal(mirrored.neighbors, graph.neighbors)
    assert mirrored.checksum != graph.checksum
    assert pickle.loads(pickle.dumps(graph)).checksum == graph.checksum
    assert copy.deepcopy(graph).direction == direction


def test_the_checksum_tells_direction_and_kept_loops_apart() -> None:
    kinds = [{}, {"direction": "out"}, {"direction": "in"}, {"self_loops": "keep"}]
    kinds += [{"direction": "out", "self_loops": "keep"}, {"direction": "out", "self_loops": "add"}]
    sums = {Graph.from_edges(EDGES, 4, **kind).checksum for kind in kinds}
    assert len(sums) == len(kinds)


def test_weights_and_duplicates() -> None:
    ends, weights = np.array([[0, 0, 1], [1, 1, 0]]), np.array([1.0, 2.0, 5.0])
    graph = Graph.from_edges(ends, edge_weight=weights, direction="out")
    assert np.array_equal(dense(graph), [[0, 3], [5, 0]])
    assert torch.equal(graph.edges()[1], torch.tensor([3.0, 5.0], dtype=torch.float64))
    largest = Graph.from_edges(ends, edge_weight=weights, direction="out", duplicates="max")
    assert np.array_equal(dense(largest), [[0, 2], [5, 0]])


def test_other_forms_of_a_graph() -> None:
    expected = Graph.from_edges(EDGES, 4, direction="out").checksum
    matrix = sp.coo_array((np.ones(4), tuple(EDGES)), shape=(4, 4))
    assert Graph.from_scipy(matrix, direction="out").checksum == expected
    network = nx.DiGraph()
    network.add_nodes_from(range(4))
    network.add_edges_from(EDGES.T.tolist())
    assert Graph.from_networkx(network, direction="out").checksum == expected
    assert as_graph(network, direction="out").checksum == expected
    assert as_graph(EDGES, 4, direction="out").checksum == expected
    with pytest.raises(ValueError, match=r"direction is 'in', but this networkx graph has no directed edges: pass a"):
        Graph.from_networkx(nx.path_graph(3), direction="in")
    with pytest.raises(ValueError, match=r"this graph has direction='undirected', but direction='out' is needed"):
        as_graph(Graph.from_edges(EDGES), direction="out")
    with pytest.raises(ValueError, match="direction must be one of 'undirected', 'out', 'in', not 'both'"):
        Graph.from_edges(EDGES, direction="both")  # type: ignore[arg-type]


def test_homophily_counts_directed_edges() -> None:
    labels = torch.tensor([0, 0, 1, 1])
    assert edge_homophily(Graph.from_edges(EDGES, 4, direction="out"), labels) == pytest.approx(1 / 3)


def test_what_needs_a_symmetric_matrix_refuses_a_directed_graph() -> None:
    graph = Graph.from_edges(EDGES, 4, direction="in")
    x = torch.ones(4, 1)
    remedy = (
        r" needs an undirected graph, but this one is directed \(direction=\'in\'\): build it with "
        r'direction="undirected", or use a message-passing method, such as gcn$'
    )
    for what, call in {
        "the factorization": lambda: factorize(graph, x, 2),
        "this product with P": lambda: graph.propagate(x),
        "an eigendecomposition": lambda: eigenpairs(graph),
        "the Dirichlet energy": lambda: dirichlet_energy(graph, x),
        "GPRGNN": lambda: GPRGNN(1, 2)(x, graph),
    }.items():
        with pytest.raises(ValueError, match=f"^{what}{remedy}"):
            call()


def test_weights_that_leave_the_range_are_refused() -> None:
    # Node 1 has a tiny degree, and node 0 a large weight toward it: the entry of P is 1e30 / sqrt(1e30 * 1e-60).
    ends, weights = np.array([[0, 1], [1, 0]]), np.array([1e30, 1e-60])
    graph = Graph.from_edges(ends, edge_weight=weights, direction="out")
    with pytest.raises(ValueError, match="P has the entry inf for node 0 and its neighbor 1: the weights of this dir"):
        graph.propagation_matrix(torch.float32)
    assert torch.isfinite(graph.propagation_matrix(torch.float64).values()).all()
