from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import edge_lists
from torch import Tensor

from unifilter.graph import Graph, SelfLoops


def dense_propagation(graph: Graph) -> Tensor:
    adjacency = graph.adjacency(torch.float64).to_dense()
    degree = adjacency.sum(dim=1)
    scale = torch.where(degree > 0, degree.rsqrt(), 0.0)
    return scale[:, None] * adjacency * scale


@given(edge_lists(), st.sampled_from(["remove", "add"]))
def test_propagate_is_the_normalised_adjacency(case: tuple[int, np.ndarray, np.ndarray], self_loops: SelfLoops) -> None:
    num_nodes, edges, weights = case
    graph = Graph.from_edges(edges, num_nodes=num_nodes, edge_weight=weights, self_loops=self_loops)
    x = torch.arange(3.0 * num_nodes, dtype=torch.float64).sin().reshape(num_nodes, 3)
    expected = dense_propagation(graph) @ x
    torch.testing.assert_close(graph.propagate(x), expected)
    torch.testing.assert_close(graph.propagate(x.numpy()), expected)
    torch.testing.assert_close(graph.propagate(x[:, 0]), expected[:, 0])
    torch.testing.assert_close(graph.propagate(x.to_sparse()), expected)
    torch.testing.assert_close(graph.propagate(sp.csr_array(x.numpy())), expected)
    single = graph.propagate(x.float())
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), expected, rtol=0, atol=1e-5)


def test_isolated_nodes_have_a_zero_row() -> None:
    graph = Graph.from_edges(np.array([[0], [2]]), num_nodes=4)
    assert graph.propagate(torch.ones(4)).tolist() == [1, 0, 1, 0]


def test_propagate_keeps_the_gradient_of_a_tensor() -> None:
    graph = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
    for x in (torch.ones(3, dtype=torch.float64), torch.ones(3, 2, dtype=torch.float64)):
        x.requires_grad_()
        product = graph.propagate(x)
        assert product.shape == x.shape
        (gradient,) = torch.autograd.grad(product[0].sum(), x)
        assert gradient.reshape(3, -1)[:, 0].tolist() == pytest.approx([0.0, 0.5**0.5, 0.0])


def test_propagation_matrix_is_what_propagate_multiplies_by() -> None:
    edges, weight = torch.tensor([[0, 1, 3], [1, 2, 1]]), torch.tensor([1.0, 2.0, 0.5])
    graph = Graph.from_edges(edges, num_nodes=5, edge_weight=weight)
    matrix = graph.propagation_matrix(torch.float64).to_dense()
    torch.testing.assert_close(matrix, dense_propagation(graph), atol=1e-15, rtol=0)
    torch.testing.assert_close(graph.propagate(torch.eye(5, dtype=torch.float64)), matrix, atol=1e-15, rtol=0)


def test_propagate_refuses_bad_signals() -> None:
    graph = Graph.from_edges(np.array([[0, 1], [1, 2]]))
    with pytest.raises(ValueError, match="features have 2 rows but the graph has 3 nodes: pass one row per node"):
        graph.propagate(torch.ones(2, 5))
    with pytest.raises(ValueError, match=r"feature column 0 of node 1 is not finite \(inf\): impute or drop it"):
        graph.propagate(torch.tensor([1.0, float("inf"), 1.0]))
