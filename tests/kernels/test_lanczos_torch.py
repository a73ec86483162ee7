"""The plain torch path, which serves every other device, gives what the fused kernels give."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import connected_graph, graphs, signals

from unifilter import Graph
from unifilter.kernels.compiled.lanczos import lanczos_compiled
from unifilter.kernels.lanczos import lanczos_torch


@given(graphs(), st.integers(1, 8), st.integers(0, 99), st.sampled_from([None, False, True]))
def test_agrees_with_the_fused_kernel(graph: Graph, hops: int, seed: int, reorthogonalize: bool | None) -> None:
    rows, x = graph.compressed_rows, signals(graph, 5, seed)
    fused = lanczos_compiled(rows, x, hops, reorthogonalize, None)
    plain = lanczos_torch(rows, x, hops, reorthogonalize, 2)
    assert torch.equal(fused[4], plain[4])
    # Where little of a vector was left the two round differently, by the inverse of what was left.
    smallest = fused[2][fused[2] > 0].min().item() if (fused[2] > 0).any() else 1.0
    for left, right in zip(fused[:4], plain[:4], strict=True):
        assert torch.allclose(left, right, atol=1e-12 / smallest**2)


@pytest.mark.parametrize("sparse", [False, True])
def test_single_precision_and_many_hops(sparse: bool) -> None:
    graph = connected_graph(300)
    rows, x = graph.compressed_rows, signals(graph, 33, 2, torch.float32)
    vectors, alpha, _, _, dimension = lanczos_torch(rows, x.to_sparse_csc() if sparse else x, 60, None, 7)
    fused = lanczos_compiled(rows, x, 60, None, None)
    assert torch.equal(dimension, fused[4])
    assert torch.allclose(alpha[:10], fused[1][:10], atol=1e-4)
    gram = torch.einsum("knc,lnc->ckl", vectors, vectors)
    assert (gram - torch.eye(61)).abs().max() < 1e-3


def test_a_dense_graph_whose_products_are_short() -> None:
    edges = torch.triu_indices(200, 200, 1)
    edges = edges[:, torch.rand(edges.shape[1], generator=torch.Generator().manual_seed(0)) < 0.3]
    graph = Graph.from_edges(edges, num_nodes=200)
    for factor in (lanczos_torch, lanczos_compiled):
        vectors = factor(graph.compressed_rows, signals(graph, 40, 2, torch.float32), 60, None, None)[0]
        gram = torch.einsum("knc,lnc->ckl", vectors, vectors)
        assert (gram - torch.eye(61)).abs().max() < 1e-3


@pytest.mark.parametrize("weighted", [False, True])
def test_a_block_larger_than_the_cache(weighted: bool) -> None:
    nodes = 40_000
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(nodes, (2, 3 * nodes), generator=generator)
    weight = torch.rand(3 * nodes, generator=generator) + 0.5 if weighted else None
    graph = Graph.from_edges(edges, num_nodes=nodes, edge_weight=weight)
    rows, x = graph.compressed_rows, torch.randn(nodes, 32, generator=generator)
    for left, right in zip(
        lanczos_compiled(rows, x, 3, None, None),
        lanczos_torch(rows, x, 3, None, None),
        strict=True,
    ):
        assert torch.allclose(left, right, atol=1e-4)
