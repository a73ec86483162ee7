"""Estimate whether a shared UniFilter trains faster on precomputed rows or with the filter in every epoch."""

from __future__ import annotations

import math

from unifilter.graph import Graph
from unifilter.nn import Features, SharedUniFilter, SparseRows

# Nanoseconds on two cores, measured for float32: a number of a row that is read from memory, a multiplication in a
# product of dense matrices, in a product with the graph, and in one of sparse features with dense weights.
_READ, _DENSE, _EDGE, _SPARSE = 0.4, 0.02, 0.05, 0.33
# A hop also writes and reads the row of each node, at the cost of this number of edges.
_ROW_EDGES = 4
# Rows that take more memory than this are never precomputed.
_MOST_BYTES = 4 * 2**30


def rows_are_faster(
    model: SharedUniFilter, x: Features, graph: Graph, nodes: tuple[int, int], batch_size: int | None
) -> bool:
    """Whether training on precomputed rows is faster, by an estimate of the time of an epoch.

    The estimate depends on sizes alone, so it is the same on every machine.

    Args:
        model: The model.
        x: The training features.
        graph: The graph.
        nodes: Number of training and validation nodes.
        batch_size: Training nodes per step.
    """
    channels, vectors, first = model.in_channels, model.num_vectors, model.mlp.first.out_features
    if x.shape[0] * channels * (model.hops + 1) * _bytes_of(x) > _MOST_BYTES:
        return False
    train, val = nodes
    # With dropout every basis element is computed separately, from the vectors of all hops.
    elements = vectors * (1 if model.basis_dropout == 0 else 3)
    rows = _READ * elements * channels * (2 * train + val) + _DENSE * channels * first * (3 * train + val)
    # A step is a forward and a backward pass, and validation is another forward pass; each pass covers all nodes.
    passes = 2 * math.ceil(train / (batch_size or train)) + 1
    width, terms = (channels, 1) if channels <= first else (first, 2)
    products = _EDGE * model.hops * (graph.num_entries + _ROW_EDGES * terms * graph.num_nodes) * width
    entries = x.num_entries * _SPARSE if isinstance(x, SparseRows) else x.shape[0] * channels * _DENSE
    # The backward pass recomputes the product of the features instead of storing it.
    features = entries * first * terms * (1 + 1 / passes)
    return rows < passes * (products + features)


def _bytes_of(x: Features) -> int:
    return int(x.dtype.itemsize)
