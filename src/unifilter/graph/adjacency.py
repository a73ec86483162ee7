"""Compressed sparse rows of an adjacency matrix from an edge list."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp

from unifilter.graph.edge_facts import EdgeFacts

Duplicates = Literal["sum", "max"]
SelfLoops = Literal["remove", "add", "keep"]
Direction = Literal["undirected", "out", "in"]


def adjacency_of_edges(
    source: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None,
    num_nodes: int,
    duplicates: Duplicates,
    self_loops: SelfLoops,
    direction: Direction,
) -> tuple[sp.csr_array, EdgeFacts]:
    """The adjacency of a checked edge list, and what was done to the edges. See :meth:`unifilter.Graph.from_edges`."""
    listed, merged = _merged_adjacency(source, target, weight, num_nodes, duplicates, self_loops == "keep")
    both_ways = listed.maximum(listed.T).tocsr()
    adjacency = sp.csr_array({"undirected": both_ways, "out": listed, "in": listed.T}[direction])
    facts = EdgeFacts(
        given=len(source),
        one_directional=both_ways.nnz - listed.nnz,
        duplicates=merged,
        self_loops=int((source == target).sum()),
        weighted=bool((adjacency.data != 1).any()),
    )
    return with_loops(adjacency) if self_loops == "add" else adjacency, facts


def with_loops(adjacency: sp.csr_array) -> sp.csr_array:
    """Add a self-loop of weight 1 to every node."""
    return (adjacency + sp.identity(adjacency.shape[0], dtype=adjacency.dtype, format="csr")).tocsr()


def without_loops(adjacency: sp.csr_array) -> sp.csr_array:
    """Remove every self-loop."""
    entries = adjacency.tocoo()
    apart = entries.row != entries.col
    ends = entries.row[apart], entries.col[apart]
    return sp.csr_array((entries.data[apart], ends), shape=adjacency.shape)


def _merged_adjacency(
    source: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None,
    num_nodes: int,
    duplicates: Duplicates,
    keep_loops: bool,
) -> tuple[sp.csr_array, int]:
    """The directed adjacency with one entry per listed pair, and the number of duplicates merged."""
    values = np.ones(len(source), dtype=np.float32) if weight is None else weight
    keep = (values > 0) & (keep_loops | (source != target))
    source, target, values = source[keep], target[keep], values[keep]
    adjacency = sp.csr_array((values, (source, target)), shape=(num_nodes, num_nodes))
    if weight is None:
        adjacency.sum_duplicates()
        adjacency.data[:] = 1
    elif duplicates == "max" and adjacency.nnz:
        # scipy can only sum duplicates: sort so that the largest weight of each pair comes first, and keep the first.
        order = np.lexsort((-values, target, source))
        pair = source[order] * np.int64(num_nodes) + target[order]
        first = order[np.r_[True, pair[1:] != pair[:-1]]]
        adjacency = sp.csr_array((values[first], (source[first], target[first])), shape=(num_nodes, num_nodes))
    else:
        adjacency.sum_duplicates()
        if not np.isfinite(adjacency.data).all():
            adjacency = _summed_in_double_precision(source, target, values, num_nodes)
    return adjacency, len(source) - adjacency.nnz


def _summed_in_double_precision(
    source: np.ndarray, target: np.ndarray, values: np.ndarray, num_nodes: int
) -> sp.csr_array:
    """Sum duplicates in double precision, for weights whose sums overflow single precision."""
    adjacency = sp.csr_array((values.astype(np.float64), (source, target)), shape=(num_nodes, num_nodes))
    adjacency.sum_duplicates()
    wrong = ~np.isfinite(adjacency.data)
    if wrong.any():
        entries = adjacency.tocoo()
        first = int(wrong.argmax())
        raise ValueError(
            f"the weights of edge {entries.row[first]} -> {entries.col[first]}, which is listed more than once, add up "
            f"to more than {np.finfo(np.float64).max:.1e}: divide all weights by the same number, which does not "
            'change P, or merge them with duplicates="max"'
        )
    return adjacency
