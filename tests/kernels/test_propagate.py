from __future__ import annotations

import re
from unittest.mock import patch

import numpy as np
import pytest
import torch
from dense import propagation_matrix
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import chebyshev
from strategies import connected_graph, graphs, signals

from unifilter import Graph
from unifilter.kernels.compiled import chebyshev as compiled
from unifilter.kernels.compiled.lanes import fitting_width
from unifilter.kernels.propagate import _chebyshev_sum_torch, chebyshev_pair, chebyshev_split, chebyshev_sum


def dense_terms(graph: Graph, count: int) -> np.ndarray:
    """``T_k(-P)`` from the eigendecomposition, ``[count, n, n]``."""
    values, vectors = np.linalg.eigh(-propagation_matrix(graph))
    shapes = [chebyshev.chebval(values, np.eye(count)[k]) for k in range(count)]
    return np.stack([(vectors * shape) @ vectors.T for shape in shapes])


@given(graphs(), st.sampled_from([1, 3, 5, 33, 70]), st.integers(0, 99))
def test_product_is_that_of_the_dense_matrix(graph: Graph, channels: int, seed: int) -> None:
    x = signals(graph, channels, seed)
    np.testing.assert_allclose(graph.propagate(x).numpy(), propagation_matrix(graph) @ x.numpy(), atol=1e-12)


@given(graphs(), st.integers(0, 8), st.sampled_from([2, 4, 7, 35]), st.integers(0, 99))
def test_sum_and_inner_products_are_those_of_the_eigendecomposition(
    graph: Graph, hops: int, channels: int, seed: int
) -> None:
    x, partner = signals(graph, channels, seed), signals(graph, channels, seed + 1)
    weights = torch.randn(hops + 1, channels, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    terms = dense_terms(graph, hops + 1) @ x.numpy()
    filtered, products = chebyshev_sum(graph.compressed_rows, x, weights, partner)
    assert products is not None
    np.testing.assert_allclose(filtered.numpy(), np.einsum("kc,knc->nc", weights, terms), atol=1e-10)
    np.testing.assert_allclose(products.numpy(), np.einsum("nc,knc->kc", partner, terms), atol=1e-10)


@pytest.mark.parametrize("kernels", ["compiled", "torch"])
@given(graph=graphs(), hops=st.integers(1, 8), channels=st.sampled_from([2, 7, 16, 35]), seed=st.integers(0, 99))
def test_two_filters_together_are_those_of_the_eigendecomposition(
    kernels: str, graph: Graph, hops: int, channels: int, seed: int
) -> None:
    """Summed on a signal each, or apart on one signal, with what their weights get back."""
    one, other = (signals(graph, channels, seed + k) for k in range(2))
    x = signals(graph, 2 * channels, seed + 2)[:, channels:]  # columns of a wider signal
    weights = torch.randn(2, hops + 1, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    terms = dense_terms(graph, hops + 1)
    filters = np.einsum("tk,knm->tnm", weights, terms)
    rows = graph.compressed_rows
    with patch("unifilter.kernels.propagate.use_compiled", lambda _: kernels == "compiled"):
        summed = chebyshev_pair(rows, torch.cat([one, other], dim=1), weights)
        split, inner = chebyshev_split(rows, x, weights, torch.cat([one, other], dim=1))
        assert chebyshev_split(rows, x, weights)[1] is None
    first, second = split.chunk(2, dim=1)
    np.testing.assert_allclose(summed, filters[0] @ one.numpy() + filters[1] @ other.numpy(), atol=1e-10)
    np.testing.assert_allclose(first, filters[0] @ x.numpy(), atol=1e-10)
    np.testing.assert_allclose(second, filters[1] @ x.numpy(), atol=1e-10)
    both = torch.stack([one, other]).numpy()
    np.testing.assert_allclose(inner, np.einsum("tnc,knm,mc->tk", both, terms, x.numpy()), atol=1e-10)


@given(graphs(), st.integers(0, 6), st.booleans())
def test_plain_torch_gives_the_same(graph: Graph, hops: int, paired: bool) -> None:
    x = signals(graph, 6, 0)
    weights = torch.randn(hops + 1, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    partner = signals(graph, 6, 1) if paired else None
    for fused, plain in zip(
        chebyshev_sum(graph.compressed_rows, x, weights, partner),
        _chebyshev_sum_torch(graph.compressed_rows, x, weights, partner),
        strict=True,
    ):
        assert (fused is None) == (plain is None)
        assert fused is None or torch.allclose(fused, plain, atol=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("channels", [5, 40])
def test_single_precision_on_a_signal_larger_than_the_cache(weighted: bool, channels: int) -> None:
    nodes = 40_000
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(nodes, (2, 3 * nodes), generator=generator)
    weight = torch.rand(3 * nodes, generator=generator) + 0.5 if weighted else None
    graph = Graph.from_edges(edges, num_nodes=nodes, edge_weight=weight)
    x, partner = torch.randn(2, nodes, channels, generator=generator)
    weights = torch.randn(4, channels, generator=generator)
    filtered, products = chebyshev_sum(graph.compressed_rows, x, weights, partner)
    exact, exact_products = _chebyshev_sum_torch(graph.compressed_rows, x.double(), weights.double(), partner.double())
    assert products is not None
    assert exact_products is not None
    assert torch.allclose(filtered.double(), exact, atol=1e-5)
    # Sums of 40,000 numbers around 1.
    assert torch.allclose(products.double(), exact_products, atol=1e-2)


def test_number_of_threads_does_not_change_a_bit() -> None:
    graph = connected_graph(3000)
    x, partner = signals(graph, 5, 0, torch.float32), signals(graph, 5, 1, torch.float32)
    weights = torch.ones(6, 5)
    threads = torch.get_num_threads()
    results = []
    try:
        with patch.object(compiled, "_ADDITIONS_PER_THREAD", 100):
            for count in (1, 2, 3):
                torch.set_num_threads(count)
                results.append(chebyshev_sum(graph.compressed_rows, x, weights, partner))
    finally:
        torch.set_num_threads(threads)
    for filtered, products in results[1:]:
        assert torch.equal(filtered, results[0][0])
        assert products is not None
        assert torch.equal(products, results[0][1])


def test_rows_are_shared_out_by_edges_without_gap_or_overlap() -> None:
    row_start = np.concatenate([np.arange(1000) * 50, 50_000 + np.arange(9001)])
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(4)
        with patch.object(compiled, "_ADDITIONS_PER_THREAD", 1000):
            ranges = compiled._shares_of_rows(row_start, 8)
    finally:
        torch.set_num_threads(threads)
    assert [begin for begin, _ in ranges[1:]] == [end for _, end in ranges[:-1]]
    assert (ranges[0][0], ranges[-1][1]) == (0, 10_000)
    assert len(ranges) == 4
    # No sum is shared by two threads.
    assert all(begin % compiled._ROWS_PER_SUM == 0 for begin, _ in ranges)
    assert max(row_start[end] - row_start[begin] for begin, end in ranges) < 0.5 * row_start[-1]


@pytest.mark.parametrize(
    ("channels", "itemsize", "lanes"),
    [(1, 4, 4), (3, 4, 4), (5, 4, 8), (10, 4, 16), (64, 4, 32), (3, 8, 4), (40, 8, 16)],
)
def test_rows_are_padded_to_the_next_power_of_two(channels: int, itemsize: int, lanes: int) -> None:
    assert len(fitting_width(channels, itemsize)) == lanes


def test_product_is_differentiable() -> None:
    graph = connected_graph(20)
    x = signals(graph, 3, 0).requires_grad_()
    assert torch.autograd.gradcheck(graph.propagate, (x,))
    assert torch.autograd.gradgradcheck(graph.propagate, (x,))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.ones(20), "a signal must be a dense float32 or float64 tensor [num_nodes, channels], not torch.float32"),
        (torch.ones(20, 2).long(), "not torch.int64 of shape [20, 2]: convert it with .to_dense() or .float()"),
        (torch.eye(20).to_sparse(), "not sparse torch.float32 of shape [20, 20]"),
        (torch.ones(19, 2), "must have 20 rows and at least one column, not shape [19, 2]: pass one row per node"),
        (torch.ones(20, 0), "not shape [20, 0]"),
        (torch.ones(20, 2, device="meta"), "the signal is on meta and the graph on cpu: move it with .to()"),
    ],
)
def test_a_signal_that_does_not_fit_is_refused(x: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        connected_graph(20).propagate(x, check_finite=False)
