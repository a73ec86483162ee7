"""A linear layer for wide and sparse inputs, with polynomial filters on its output."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from unifilter.graph import Graph
from unifilter.kernels.compressed_rows import CompressedRows
from unifilter.kernels.propagate import chebyshev_pair, chebyshev_split, chebyshev_sum
from unifilter.nn.graph_module import Features
from unifilter.nn.sparse_rows import SparseRows

# Columns of the output per block. It bounds the work space.
_COLUMNS = 32


def filtered_linear(graph: Graph, x: Features, weight: Tensor, scales: Tensor, filters: Tensor) -> Tensor:
    r"""The sum :math:`\sum_t f_t(\mathbf{P})\, X D_t W^\top`, differentiable in ``weight`` and ``filters``.

    A filter commutes with matrices that multiply the features from the right. So the product with the weights comes
    first, and the products with the graph have the width of the output, for any width of the features. The filters are
    symmetric, so the backward pass applies the same filters to the gradient. It recomputes :math:`X D_t W^\top`, and
    both passes process a few columns at a time, so only the features and the output are stored.

    Args:
        graph: The graph, on the device of the features.
        x: Features ``[num_nodes, in]``, dense or :class:`SparseRows`.
        weight: :math:`W`, ``[out, in]``.
        scales: The diagonals of :math:`D_t`, ``[terms, in]``.
        filters: Chebyshev weights of :math:`f_t`, ``[terms, K + 1]`` with one term or two; see
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
            if len(filters) == 2:
                result[:, block] = chebyshev_pair(rows, hidden, filters)
            else:
                result[:, block] = chebyshev_sum(rows, hidden, _per_column(filters, hidden))[0]
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weight, filters, scales = ctx.saved_tensors
        x, rows = ctx.x, ctx.rows
        grad_weight, grad_filters = torch.empty_like(weight), torch.zeros_like(filters)
        for start in range(0, len(weight), _COLUMNS):
            block = slice(start, start + _COLUMNS)
            hidden = _times(x, weight[block], scales) if ctx.needs_input_grad[1] else None
            signal = grad[:, block]
            if len(filters) == 2:
                filtered, inner = chebyshev_split(rows, signal, filters, hidden)
            else:
                filtered, columns = chebyshev_sum(rows, signal, _per_column(filters, signal), hidden)
                inner = None if columns is None else columns.sum(dim=1)[None]
            del hidden
            back = _transposed_times(x, filtered).chunk(len(filters), dim=1)
            del filtered
            for one, scale in zip(back, scales, strict=True):
                one *= scale[:, None]
            grad_weight[block] = sum(back[1:], start=back[0]).T
            del back
            if inner is not None:
                grad_filters += inner
        return grad_weight, grad_filters, None, None, None


def _times(x: Features, weight: Tensor, scales: Tensor) -> Tensor:
    """The products with the weights under each scale beside each other, ``[num_nodes, terms * out]``."""
    scaled = weight.new_empty(weight.shape[1], len(scales), len(weight))
    torch.mul(weight.T[:, None], scales.T[:, :, None], out=scaled)
    scaled = scaled.flatten(1)
    return x.times(scaled) if isinstance(x, SparseRows) else x @ scaled


def _transposed_times(x: Features, dense: Tensor) -> Tensor:
    return x.transposed_times(dense) if isinstance(x, SparseRows) else x.T @ dense


def _per_column(filters: Tensor, signal: Tensor) -> Tensor:
    return filters.T.expand(-1, signal.shape[1])
