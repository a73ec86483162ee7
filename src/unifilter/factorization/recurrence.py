"""The polynomials of a factorization on another graph, for nodes added after the factorization."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from unifilter._internal.checks import as_feature_matrix
from unifilter._internal.columns import dense_columns
from unifilter.bases import Tridiagonal
from unifilter.graph import Graph

# Columns per block. It bounds the work space to four vectors of this number of columns.
_COLUMNS = 256


def apply_recurrence(graph: Graph, x: Any, tridiagonal: Tridiagonal, weights: Tensor) -> Tensor:
    r"""``sum_i weights[i] * v_i`` with the polynomials of a stored tridiagonal, ``[num_nodes, channels]``.

    The Lanczos vectors of the graph that was factored are polynomials of its propagation matrix,
    :math:`v_i = \pi_i(\mathbf{P})\, x / \|x\|`. Their recurrence coefficients are numbers, so the same polynomials can
    be applied to any graph and features; on the graph that was factored they give the same vectors.

    Args:
        graph: The graph, for instance one that has grown.
        x: Its features, as in :func:`unifilter.factorize`, with as many channels as the tridiagonal.
        tridiagonal: The stored coefficients, ``fact.tridiagonal``.
        weights: One weight per vector and channel, ``[hops + 1, channels]``.
    """
    features = as_feature_matrix(x, graph.num_nodes)
    if features.shape[1] != tridiagonal.channels:
        raise ValueError(
            f"x has {features.shape[1]} feature columns, but {tridiagonal.channels} were factored: "
            "pass the same columns in the same order"
        )
    shape = (tridiagonal.hops + 1, tridiagonal.channels)
    if tuple(weights.shape) != shape:
        raise ValueError(
            f"weights must have shape {list(shape)}, not {list(weights.shape)}: pass one per vector and channel"
        )
    graph = graph.to(features.device)
    result = torch.empty(features.shape, dtype=features.dtype, device=features.device)
    for start in range(0, tridiagonal.channels, _COLUMNS):
        columns = slice(start, min(start + _COLUMNS, tridiagonal.channels))
        some, weight = tridiagonal.select(columns).to(result.device, result.dtype), weights[:, columns].to(result)
        x = dense_columns(features, columns.start, columns.stop)
        # A zero signal has no polynomials.
        unit = torch.where(some.norm > 0, x / some.norm, 0.0)
        total = torch.zeros_like(unit)
        for k, vector in enumerate(some.sequence(partial(graph.propagate, check_finite=False), unit)):
            total = total + weight[k] * vector
        result[:, columns] = total
    return result
