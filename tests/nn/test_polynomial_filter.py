from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
import torch
from dense import propagation_matrix
from hypothesis import given
from hypothesis import strategies as st
from strategies import connected_graph, graphs, signals

from unifilter import Graph
from unifilter.bases import BASES, PolynomialBasis, make_basis, to_chebyshev
from unifilter.kernels.compiled import chebyshev as kernels
from unifilter.nn.polynomial_filter import filter_response, filter_signal

FAMILIES = sorted(name for name, family in BASES.items() if issubclass(family, PolynomialBasis))


@given(graphs(), st.sampled_from(FAMILIES), st.integers(1, 10), st.integers(0, 99))
def test_a_filter_of_any_family_is_its_function_of_the_eigenvalues(
    graph: Graph, name: str, hops: int, seed: int
) -> None:
    basis = make_basis(name)
    assert isinstance(basis, PolynomialBasis)
    eigenvalues, vectors = np.linalg.eigh(np.eye(graph.num_nodes) - propagation_matrix(graph))
    values = basis.evaluate(torch.from_numpy(eigenvalues), hops=hops)
    weights = torch.randn(len(values), dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    x = signals(graph, 3, seed)
    expected = vectors @ ((weights @ values).numpy()[:, None] * (vectors.T @ x.numpy()))
    filtered = filter_signal(graph, x, weights @ to_chebyshev(basis, hops))
    np.testing.assert_allclose(filtered.numpy(), expected, atol=1e-9)


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients(per_channel: bool, weighted: bool) -> None:
    random = np.random.default_rng(0)
    edges = random.integers(0, 14, size=(2, 30))
    graph = Graph.from_edges(edges, num_nodes=15, edge_weight=random.uniform(0.5, 2, 30) if weighted else None)
    x = signals(graph, 3, 0).requires_grad_()
    weights = torch.randn(5, 3, dtype=torch.float64) if per_channel else torch.randn(5, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda x, w: filter_signal(graph, x, w), (x, weights.requires_grad_()))


def test_gradients_where_only_one_input_learns() -> None:
    graph = connected_graph(12)
    x, weights = signals(graph, 2, 0), torch.randn(4, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda w: filter_signal(graph, x, w), (weights.clone().requires_grad_(),))
    assert torch.autograd.gradcheck(lambda x: filter_signal(graph, x, weights), (x.clone().requires_grad_(),))


@pytest.mark.parametrize("name", ["bernstein", "monomial", "chebyshev_interpolation"])
def test_every_family_costs_as_many_products_as_its_degree(name: str) -> None:
    graph, hops = connected_graph(40), 10
    basis = make_basis(name)
    assert isinstance(basis, PolynomialBasis)
    matrix = to_chebyshev(basis, hops)
    weights = torch.ones(len(matrix), dtype=torch.float64, requires_grad=True)
    x = signals(graph, 3, 0).requires_grad_()
    with patch.object(kernels, "_hop", wraps=kernels._hop) as hop:
        filtered = filter_signal(graph, x, weights @ matrix)
        assert hop.call_count == hops
        filtered.sum().backward()
        assert hop.call_count == 2 * hops
    assert weights.grad is not None
    assert x.grad is not None


def test_single_precision_stays_close_to_double() -> None:
    graph = connected_graph(500)
    x = signals(graph, 5, 0)
    weights = torch.randn(11, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    exact = filter_signal(graph, x, weights)
    single = filter_signal(graph, x.float(), weights)
    assert single.dtype == torch.float32
    assert (single - exact).abs().max() < 1e-5 * exact.abs().max()


def test_response_has_one_channel_or_one_for_each_filter() -> None:
    lam = torch.linspace(0, 2, 7).reshape(7, 1)
    shared = filter_response(torch.tensor([1.0, 1.0]), lam)  # T_0 + T_1 is the eigenvalue itself
    assert torch.allclose(shared, lam[..., None])
    each = filter_response(torch.tensor([[1.0, 0.0], [1.0, 2.0]]), lam)
    assert torch.allclose(each, torch.stack([lam, 2 * (lam - 1)], dim=-1))
    assert torch.equal(filter_response(torch.tensor([3.0]), lam), torch.full((7, 1, 1), 3.0))


@pytest.mark.parametrize("weights", [torch.ones(4, 3), torch.ones(0), torch.ones(2, 2, 2)])
def test_weights_that_do_not_fit_are_refused(weights: torch.Tensor) -> None:
    with pytest.raises(ValueError, match=r"weights must have shape \[K \+ 1\] or \[K \+ 1, 2\], not"):
        filter_signal(connected_graph(10), torch.ones(10, 2), weights)


def test_a_signal_of_another_graph_is_refused() -> None:
    with pytest.raises(ValueError, match="pass one row per node"):
        filter_signal(connected_graph(10), torch.ones(9, 2), torch.ones(3))
