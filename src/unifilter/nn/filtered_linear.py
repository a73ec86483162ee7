"""A linear layer with polynomial filters on its output, whose input may be wide and sparse."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from unifilter.graph import Graph
from unifilter.kernels.compressed_rows import CompressedRows
from unifilter.kernels.propagate import chebyshev_sum
from unifilter.nn.graph_module import Features
from unifilter.nn.sparse_rows import SparseRows

# Columns of the output that are worked on together: bounds the work space.
_COLUMNS = 32


def filtered_linear(graph: Graph, x: Features, weight: Tensor, scales: Tensor, filters: Tensor) -> Tensor:
    r"""The sum :math:`\sum_t f_t(\mathbf{P})\, X D_t W^\top`, differentiable in ``weight`` and ``filters``.

    A filter commutes with what multiplies the features from the right. So the product with the weights comes first, and
    the products with the graph are as wide as the output, however wide the features are. The filters are symmetric:
    the backward pass applies the same ones to the gradient. It computes :math:`X D_t W^\top` again instead of keeping
    it, and both passes work on a few columns at a time, so nothing is kept but features and output.

    Args:
        graph: The graph, on the device of the features.
        x: Features ``[num_nodes, in]``, dense or :class:`SparseRows`.
        weight: :math:`W`, ``[out, in]``.
        scales: The diagonals of :math:`D_t`, ``[terms, in]``.
        filters: Chebyshev weights of :math:`f_t`, ``[terms, K + 1]``; see
            :func:`unifilter.nn.polynomial_filter.filter_signal`.

    Returns:
        ``[num_nodes, out]``.
    """
    return _FilteredLinear.apply(weight, filters.to(weight), scales, x, graph.compressed_rows)  # type: ignore[no-any-return,no-untyped-call]


class _FilteredLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, filters: Tensor, scales: Tensor, x: Features, rows: CompressedRows) -> Tensor:
        ctx.save_for_backward(weight, filters, scales)
        ctx.x, ctx.rows = x, rows
        result = weight.new_empty(x.shape[0], len(weight))
        for start in range(0, len(weight), _COLUMNS):
            block = slice(start, start + _COLUMNS)
            hidden = _times(x, weight[block], scales)
            filtered = chebyshev_sum(rows, hidden, _per_column(filters, hidden))[0]
            parts = filtered.chunk(len(filters), dim=1)
            result[:, block] = parts[0] if len(parts) == 1 else parts[0] + parts[1]
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weight, filters, scales = ctx.saved_tensors
        x, rows, terms = ctx.x, ctx.rows, len(filters)
        grad_weight, grad_filters = torch.empty_like(weight), torch.zeros_like(filters)
        for start in range(0, len(weight), _COLUMNS):
            block = slice(start, start + _COLUMNS)
            hidden = _times(x, weight[block], scales) if ctx.needs_input_grad[1] else None
            signal = grad[:, block].repeat(1, terms)
            filtered, inner = chebyshev_sum(rows, signal, _per_column(filters, signal), hidden)
            back = x.transposed_times(filtered) if isinstance(x, SparseRows) else x.T @ filtered
            grad_weight[block] = (_by_term(back.T, terms) * scales[:, None]).sum(dim=0)
            if inner is not None:
                grad_filters += _by_term(inner.T, terms).sum(dim=1)
        return grad_weight, grad_filters, None, None, None


def _times(x: Features, weight: Tensor, scales: Tensor) -> Tensor:
    """The product with the weights under each scale, side by side: ``[num_nodes, terms * out]``."""
    scaled = (weight * scales[:, None]).flatten(0, 1).T
    return x.times(scaled) if isinstance(x, SparseRows) else x @ scaled


def _by_term(columns: Tensor, terms: int) -> Tensor:
    """What was side by side, ``[terms * out, ...]``, one after the other: ``[terms, out, ...]``."""
    return columns.reshape(terms, -1, columns.shape[1])


def _per_column(filters: Tensor, signal: Tensor) -> Tensor:
    return filters.T.repeat_interleave(signal.shape[1] // len(filters), dim=1)
