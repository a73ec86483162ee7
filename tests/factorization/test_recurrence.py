from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from dense import propagation_matrix
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import connected_graph, graphs, signals

from unifilter import Graph, factorize
from unifilter.factorization import apply_recurrence, recurrence


def each_vector(graph: Graph, x: torch.Tensor, hops: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The vectors of the factorization, and what the recurrence makes of each."""
    fact = factorize(graph, x, hops)
    found = []
    for k in range(hops + 1):
        weights = torch.zeros(hops + 1, fact.channels)
        weights[k] = 1
        found.append(apply_recurrence(graph, x, fact.tridiagonal, weights))
    return fact.vectors, torch.stack(found)


@settings(max_examples=40)
@given(graph=graphs(), seed=st.integers(0, 1000), hops=st.integers(1, 4))
def test_on_the_graph_that_was_factored_it_gives_the_factorization_s_vectors(
    graph: Graph, seed: int, hops: int
) -> None:
    # Where a space is nearly exhausted a step divides by a beta as small as the threshold, about 6e-8.
    vectors, found = each_vector(graph, signals(graph, 4, seed), hops)
    torch.testing.assert_close(found, vectors, rtol=0, atol=1e-4)


def test_channels_that_break_down_and_columns_of_zeros() -> None:
    path = Graph.from_edges(np.array([[0, 1, 3, 4, 5, 6], [1, 2, 4, 5, 6, 7]]), num_nodes=9)
    x = torch.zeros(9, 4, dtype=torch.float64)
    x[0, 0] = 1  # spans the three nodes of its component
    x[8, 1] = 2  # an isolated node
    x[3, 2] = 1  # spans five
    vectors, found = each_vector(path, x, hops=4)
    assert factorize(path, x, 4).dimension.tolist() == [3, 1, 5, 0]
    torch.testing.assert_close(found, vectors, rtol=0, atol=1e-10)
    assert not found[:, :, 3].any()


def test_on_another_graph_the_polynomials_are_the_same() -> None:
    """Against the polynomials of the Laplacian's eigenvalues, on a dense eigendecomposition of the larger graph."""
    small, large = connected_graph(30, seed=1), connected_graph(47, seed=2)
    generator = torch.Generator().manual_seed(0)
    x, larger_x = (torch.randn(n, 3, generator=generator, dtype=torch.float64) for n in (30, 47))
    tridiagonal = factorize(small, x, 5).tridiagonal
    weights = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    found = apply_recurrence(large, larger_x, tridiagonal, weights)
    mu, vectors = np.linalg.eigh(propagation_matrix(large))
    values = tridiagonal.orthonormal_polynomials(torch.from_numpy(1 - mu))  # [6, 47, 3]
    response = torch.einsum("kc,knc->nc", weights, values) / tridiagonal.norm
    expected = vectors @ (response.numpy() * (vectors.T @ larger_x.numpy()))
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-9 * np.abs(expected).max())


def test_blocks_of_columns_and_sparse_features_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, x = connected_graph(), torch.eye(60, 7)
    fact = factorize(graph, x, 3)
    weights = torch.linspace(-1, 1, 28).reshape(4, 7)
    whole = apply_recurrence(graph, x, fact.tridiagonal, weights)
    monkeypatch.setattr(recurrence, "_COLUMNS", 3)
    torch.testing.assert_close(apply_recurrence(graph, x, fact.tridiagonal, weights), whole)
    sparse = sp.csr_array(x.numpy())
    torch.testing.assert_close(apply_recurrence(graph, sparse, fact.tridiagonal, weights), whole)


def test_another_width_and_weights_of_another_shape() -> None:
    graph = connected_graph()
    tridiagonal = factorize(graph, torch.eye(60, 4), 3).tridiagonal
    with pytest.raises(ValueError, match="x has 5 feature columns, but 4 were factored: pass the same columns"):
        apply_recurrence(graph, torch.eye(60, 5), tridiagonal, torch.ones(4, 4))
    with pytest.raises(ValueError, match=r"weights must have shape \[4, 4\], not \[4\]: pass one per vector"):
        apply_recurrence(graph, torch.eye(60, 4), tridiagonal, torch.ones(4))
