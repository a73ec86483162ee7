"""The sparse matrices of message passing, computed once per graph."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from unifilter._internal.checks import without_torch_notices
from unifilter.graph import Graph
from unifilter.nn.sparse_rows import SparseRows


def propagation(graph: Graph, dtype: torch.dtype) -> SparseRows:
    r""":math:`\mathbf{P} = \mathbf{D}^{-1/2}\mathbf{A}\mathbf{D}^{-1/2}`, with the self-loops of the graph."""
    return _kept(
        graph,
        "propagation",
        dtype,
        lambda: SparseRows(graph.propagation_matrix(dtype), symmetric=graph.is_undirected),
    )


def neighbor_mean(graph: Graph, dtype: torch.dtype) -> SparseRows:
    r""":math:`\mathbf{D}^{-1}\mathbf{A}`: the mean over the neighbors of every node, 0 without neighbors."""

    def make() -> SparseRows:
        adjacency = graph.adjacency(dtype)
        degree = torch.where(graph.degree > 0, graph.degree, 1.0).to(dtype)
        values = adjacency.values() / torch.repeat_interleave(degree, graph.row_start.diff())
        return SparseRows(_like(adjacency, values))

    return _kept(graph, "neighbor mean", dtype, make)


def neighbor_sum(graph: Graph, dtype: torch.dtype) -> SparseRows:
    r""":math:`\mathbf{A}`: the sum over the neighbors of every node."""
    return _kept(
        graph, "neighbor sum", dtype, lambda: SparseRows(graph.adjacency(dtype), symmetric=graph.is_undirected)
    )


def _kept(graph: Graph, name: str, dtype: torch.dtype, make: Callable[[], SparseRows]) -> SparseRows:
    """A matrix that all models of a graph share, cached for the lifetime of the graph."""
    key = f"{name} {dtype}"
    if key not in graph.cache:
        graph.cache[key] = make()
    matrix: SparseRows = graph.cache[key]
    return matrix


def _like(matrix: Tensor, values: Tensor) -> Tensor:
    with without_torch_notices():
        return torch.sparse_csr_tensor(
            matrix.crow_indices(), matrix.col_indices(), values, matrix.shape, check_invariants=False
        )
