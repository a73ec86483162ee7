"""Tridiagonals without vectors, for explanations of graphs of any size."""

from __future__ import annotations

from typing import Any

import torch

from unifilter._internal.checks import as_feature_matrix, check_hops
from unifilter.bases import Tridiagonal
from unifilter.factorization.factorization import factorize
from unifilter.graph import Graph

# Maximum bytes of the vectors of a block, unless a single column takes more.
_BLOCK_BYTES = 1 << 30
# With whole cache lines of columns, blocks of any width give the same numbers.
_LANE_BYTES = 64


def tridiagonals(graph: Graph, x: Any, hops: int) -> Tridiagonal:
    """The tridiagonals of :func:`unifilter.factorize`; vectors are computed for some columns at a time and discarded.

    Args:
        graph: The graph.
        x: Features.
        hops: Number of hops.
    """
    hops = check_hops(hops)
    features = as_feature_matrix(x, graph.num_nodes)
    size = features.dtype.itemsize
    width = max(1, _BLOCK_BYTES // ((hops + 1) * graph.num_nodes * size))
    lanes = _LANE_BYTES // size
    width = width // lanes * lanes if width > lanes else width
    channels = features.shape[1]
    if width >= channels:
        return factorize(graph, features, hops).tridiagonal
    parts = []
    for start in range(0, channels, width):
        some = torch.arange(start, min(start + width, channels), device=features.device)
        parts.append(factorize(graph, features.index_select(1, some), hops).tridiagonal)
    return Tridiagonal(
        *(torch.cat([getattr(part, name) for part in parts], dim=-1) for name in ("alpha", "beta", "norm", "dimension"))
    )
