"""Whether a shared UniFilter trains faster on rows that were computed before, or with the filter in every epoch."""

from __future__ import annotations

import math

from unifilter.graph import Graph
from unifilter.nn import Features, SharedUniFilter, SparseRows

# Nanoseconds on two cores, measured for float32: a number of a row that is read from memory, a multiplication in a
# product of dense matrices, in a product with the graph, and in one of sparse features with dense weights.
_READ, _DENSE, _EDGE, _SPARSE = 0.4, 0.02, 0.05, 0.33
# A hop also writes and reads the row of each node: as much as so many edges.
_ROW_EDGES = 4
# Rows that take more memory than this are not computed before, whatever the time.
_MOST_BYTES = 4 * 2**30


def rows_are_faster(
    model: SharedUniFilter, x: Features, graph: Graph, nodes: tuple[int, int], batch_size: int | None
) -> bool:
    """By an estimate of the time of an epoch, from sizes alone: the same on every machine.

    Args:
        model: The model.
        x: The features that it is trained on.
        graph: The graph.
        nodes: How many nodes it is trained and validated on.
        batch_size: Training nodes per step.
    """
    channels, vectors, first = model.in_channels, model.num_vectors, model.mlp.first.out_features
    if x.shape[0] * channels * (model.hops + 1) * _bytes_of(x) > _MOST_BYTES:
        return False
    train, val = nodes
    # With dropout every element of the basis is made on its own, from the vectors of all hops.
    elements = vectors * (1 if model.basis_dropout == 0 else 3)
    rows = _READ * elements * channels * (2 * train + val) + _DENSE * channels * first * (3 * train + val)
    # A step goes there and back, and the validation there once more; all nodes are in each of them.
    passes = 2 * math.ceil(train / (batch_size or train)) + 1
    width, terms = (channels, 1) if channels <= first else (first, 2)
    products = _EDGE * model.hops * (graph.neighbors.numel() + _ROW_EDGES * terms * graph.num_nodes) * width
    entries = x.num_entries * _SPARSE if isinstance(x, SparseRows) else x.shape[0] * channels * _DENSE
    # Behind a step the product of the features is made once more instead of being kept.
    features = entries * first * terms * (1 + 1 / passes)
    return rows < passes * (products + features)


def _bytes_of(x: Features) -> int:
    return int(x.dtype.itemsize)
