"""Smoothness of signals on a graph: frequency and Dirichlet energy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.checks import as_feature_matrix
from unifilter._internal.columns import dense_columns

if TYPE_CHECKING:
    from unifilter.graph.graph import Graph

# Numbers in one work array, 32 MB in float64. Wide features are processed in blocks of columns of this size.
_BLOCK = 2**22


def signal_frequency(graph: Graph, x: Any) -> Tensor:
    r"""The frequency of each signal, Definition 2.2 of the paper,

    .. math:: f(x) = \frac{x^\top \mathbf{L} x}{2\, x^\top x}, \qquad \mathbf{L} = \mathbf{I} - \mathbf{P},

    between 0 (as smooth as the graph allows) and 1 (every edge flips the sign, on a bipartite graph). Values are
    clipped to [0, 1] against rounding errors. A zero signal has frequency 0.

    Args:
        graph: The graph.
        x: Signals of shape ``[num_nodes]`` or ``[num_nodes, channels]``, dense or sparse.

    Returns:
        A scalar for one signal, otherwise ``[channels]``, in the dtype of ``x``.

    Example:
        >>> import torch
        >>> from unifilter import Graph, signal_frequency
        >>> cycle = Graph.from_edges(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
        >>> x = torch.tensor([[1.0, 1.0, 1.0], [1.0, 0.0, -1.0], [1.0, -1.0, 1.0], [1.0, 0.0, -1.0]])
        >>> signal_frequency(cycle, x).round(decimals=4)
        tensor([0.0000, 0.5000, 1.0000])
    """
    matrix = as_feature_matrix(x, graph.num_nodes)
    graph = graph.to(matrix.device)
    parts = []
    for block in _column_blocks(matrix, numbers_per_column=graph.num_nodes):
        # The frequency does not depend on the scale; a largest entry of 1 keeps the squares in range.
        peak = block.abs().amax(dim=0)
        block = block / torch.where(peak > 0, peak, 1.0)
        propagated = graph.propagate(block, check_finite=False).double()
        block = block.double()
        energy = (block * block).sum(dim=0)
        frequency = 0.5 - 0.5 * (block * propagated).sum(dim=0) / torch.where(peak > 0, energy, 1.0)
        parts.append(torch.where(peak > 0, frequency, 0.0).clamp(0.0, 1.0))
    frequencies = torch.cat(parts).to(matrix.dtype)
    return frequencies[0] if np.ndim(x) == 1 else frequencies


def dirichlet_energy(graph: Graph, x: Any) -> Tensor:
    r"""The Dirichlet energy of section 5 of the paper, the mean over nodes of their squared distances to neighbors,

    .. math:: E(\mathbf{X}) = \frac{1}{n} \sum_{v} \sum_{u \in \mathcal{N}_v} w_{uv} \|x_v - x_u\|^2,

    where every edge counts from both of its ends. It is computed from the differences along edges, so that a constant
    signal, the sign of over-smoothing, has an energy of exactly 0.

    Args:
        graph: The graph.
        x: Node features ``[num_nodes]`` or ``[num_nodes, channels]``, dense or sparse, or a dense basis
            ``[hops + 1, num_nodes, channels]``.

    Returns:
        A float64 scalar, or ``[hops + 1]`` for a basis.

    Example:
        >>> import torch
        >>> from unifilter import Graph, dirichlet_energy
        >>> path = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
        >>> dirichlet_energy(path, torch.tensor([0.0, 1.0, 3.0]))  # 2 * (1 + 4) / 3
        tensor(3.3333, dtype=torch.float64)
    """
    if np.ndim(x) == 3:
        return torch.stack([dirichlet_energy(graph, level) for level in x])
    graph.require_undirected("the Dirichlet energy")
    matrix = as_feature_matrix(x, graph.num_nodes)
    (source, target), weight = graph.to(matrix.device).edges()
    total = torch.zeros((), dtype=torch.float64, device=matrix.device)
    for block in _column_blocks(matrix, numbers_per_column=max(graph.num_nodes, graph.num_edges)):
        block = block.double()
        difference = block[source] - block[target]
        total += (weight.double() @ difference.square_()).sum()
    return total * 2 / graph.num_nodes


def _column_blocks(matrix: Tensor, numbers_per_column: int) -> Iterator[Tensor]:
    """Dense blocks of the columns of a dense or CSC matrix, narrow enough that work arrays stay within ``_BLOCK``."""
    width = max(1, _BLOCK // numbers_per_column)
    for start in range(0, matrix.shape[1], width):
        yield dense_columns(matrix, start, min(start + width, matrix.shape[1]))
