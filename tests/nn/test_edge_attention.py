from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import connected_graph, graphs
from torch import Tensor

from unifilter import Graph
from unifilter.nn.edge_attention import EdgeRows, edge_rows


def numbers(count: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, dtype=torch.float64, generator=generator).to(dtype).requires_grad_()


def dense(edges: EdgeRows, values: Tensor, fill: float = 0.0) -> Tensor:
    """Values of entries as a matrix, with a gradient."""
    matrix = values.new_full((edges.num_nodes, edges.num_nodes), fill)
    return matrix.index_put((edges.rows.long(), edges.columns.long()), values)


def check_same(found: Tensor, expected: Tensor, *sources: Tensor) -> None:
    """Values, and gradients with respect to the sources."""
    torch.testing.assert_close(found, expected)
    slope = numbers(found.numel(), 7, found.dtype).detach().view_as(found)
    torch.testing.assert_close(
        torch.autograd.grad(found, sources, slope), torch.autograd.grad(expected, sources, slope)
    )


@given(graphs(), st.sampled_from([1, 5, 8, 19]), st.sampled_from([torch.float32, torch.float64]))
def test_a_weighted_sum_is_the_product_with_the_dense_matrix(graph: Graph, channels: int, dtype: torch.dtype) -> None:
    edges = edge_rows(graph)
    weights, x = numbers(edges.num_entries, 0, dtype), numbers(graph.num_nodes * channels, 1, dtype)
    signal = x.view(-1, channels)
    check_same(edges.weighted_sum(weights, signal), dense(edges, weights) @ signal, weights, x)


def test_a_matrix_that_is_not_symmetric() -> None:
    starts, columns = torch.tensor([0, 3, 3, 4]), torch.tensor([2, 0, 1, 0])
    edges, weights, x = EdgeRows(starts, columns), numbers(4, 0), numbers(6, 1)
    matrix = dense(edges, weights)
    assert matrix.detach().nonzero().tolist() == [[0, 0], [0, 1], [0, 2], [2, 0]]
    check_same(edges.weighted_sum(weights, x.view(3, 2)), matrix @ x.view(3, 2), weights, x)


@given(graphs())
def test_pairs_are_sums_over_both_ends(graph: Graph) -> None:
    edges = edge_rows(graph)
    left, right = numbers(graph.num_nodes, 0), numbers(graph.num_nodes, 1)
    expected = (left[:, None] + right)[edges.rows.long(), edges.columns.long()]
    check_same(edges.pairs(left, right), expected, left, right)


# Scores far below zero in one row and far above in another: each row is scaled on its own.
@given(graphs(), st.sampled_from([0.0, 1e4]))
def test_a_softmax_is_that_of_each_row(graph: Graph, spread: float) -> None:
    edges = edge_rows(graph)
    scores = numbers(edges.num_entries, 0)
    shifted = scores + spread * (edges.rows % 3 - 1)
    found = edges.softmax(shifted)
    rows, columns = edges.rows.long(), edges.columns.long()
    expected = torch.softmax(dense(edges, shifted, -torch.inf), dim=1)[rows, columns]
    check_same(found, expected, scores)
    sums = edges.row_sums(found.detach())
    assert torch.allclose(sums, (graph.row_start.diff() > 0).double())


def test_dropout_falls_on_edges_and_keeps_their_mean() -> None:
    edges = edge_rows(connected_graph(2000))
    torch.manual_seed(0)
    weights = torch.ones(edges.num_entries, requires_grad=True)
    dropped = edges.dropout(weights, 0.3)
    # 11,900 entries: four standard deviations are 0.017.
    assert float((dropped == 0).double().mean()) == pytest.approx(0.3, abs=0.017)
    assert torch.allclose(dropped[dropped > 0], torch.tensor(1 / 0.7))
    dropped.sum().backward()
    assert torch.equal(weights.grad, dropped.detach())
    assert edges.dropout(weights, 0.0) is weights


def test_only_what_needs_a_gradient_gets_one() -> None:
    edges = edge_rows(connected_graph(20))
    weights, x = numbers(edges.num_entries, 0), numbers(60, 1).view(20, 3)
    for constant in (weights, x):
        terms = [one.detach() if one is constant else one for one in (weights, x)]
        edges.weighted_sum(*terms).sum().backward()
    assert weights.grad is not None


def test_a_second_derivative_is_refused_rather_than_wrong() -> None:
    edges = edge_rows(connected_graph(20))
    weights = numbers(edges.num_entries, 0)
    total = edges.weighted_sum(edges.softmax(weights), torch.ones(20, 2, dtype=torch.float64)).square().sum()
    (slope,) = torch.autograd.grad(total, weights, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_nothing_as_large_as_all_messages_is_kept_for_the_backward_pass() -> None:
    graph = connected_graph(50)
    edges, saved = edge_rows(graph), []

    def remember(tensor: Tensor) -> Tensor:
        saved.append(tensor.numel())
        return tensor

    x = numbers(50 * 40, 1).view(50, 40)
    with torch.autograd.graph.saved_tensors_hooks(remember, lambda tensor: tensor):
        edges.weighted_sum(edges.softmax(edges.pairs(x[:, 0], x[:, 1])), x)
    assert max(saved) == max(edges.num_entries, x.numel()) < edges.num_entries * 40


def test_entries_of_a_graph_are_prepared_once() -> None:
    graph = connected_graph(20)
    assert edge_rows(graph) is edge_rows(graph)
    assert edge_rows(graph).columns.dtype == torch.int32
