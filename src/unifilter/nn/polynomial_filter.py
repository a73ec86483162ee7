r"""Polynomial filters on whole signals: K products forward and K backward for any polynomial family."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from unifilter.bases import Chebyshev
from unifilter.graph import Graph
from unifilter.kernels.compressed_rows import CompressedRows
from unifilter.kernels.propagate import chebyshev_sum


def filter_signal(graph: Graph, x: Tensor, weights: Tensor) -> Tensor:
    r"""The filter :math:`\sum_k w_k T_k(-\mathbf{P})\,x`, differentiable in ``x`` and ``weights``.

    Weights ``w`` on any other fixed polynomial family are ``w @ to_chebyshev(basis, hops)`` here; see
    :func:`unifilter.bases.to_chebyshev`.

    The filter is symmetric, so the gradient of ``x`` is the same filter on the incoming gradient ``g``, and that of
    :math:`w_k` is :math:`\langle T_k(-\mathbf{P}) x, g \rangle = \langle x, T_k(-\mathbf{P}) g \rangle`. One sweep over
    ``g`` gives both, and only ``x`` is kept from the forward pass.

    Args:
        graph: The graph, on the device of ``x``.
        x: Dense signal ``[num_nodes, channels]``, float32 or float64.
        weights: Chebyshev weights ``[K + 1]``, or ``[K + 1, channels]`` for a separate filter per channel.

    Example:
        >>> import torch
        >>> from unifilter import Graph
        >>> from unifilter.nn.polynomial_filter import filter_signal
        >>> path = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
        >>> laplacian = torch.tensor([1.0, 1.0])  # L = T_0(-P) + T_1(-P)
        >>> filter_signal(path, torch.tensor([[1.0], [0.0], [0.0]]), laplacian).T
        tensor([[ 1.0000, -0.7071,  0.0000]])
    """
    graph.check_signal(x)
    if weights.ndim == 1:
        weights = weights[:, None]
    if weights.ndim != 2 or len(weights) == 0 or weights.shape[1] not in (1, x.shape[1]):
        raise ValueError(
            f"weights must have shape [K + 1] or [K + 1, {x.shape[1]}], not {list(weights.shape)}: "
            "pass one Chebyshev weight per degree, or one per degree and channel"
        )
    signal = graph.in_stored_order(x)
    filtered: Tensor = _FilterSignal.apply(signal, weights.to(x).expand(-1, x.shape[1]), graph.stored_rows)  # type: ignore[no-untyped-call]
    return graph.in_node_order(filtered)


def filter_response(weights: Tensor, lam: Tensor) -> Tensor:
    """The filter as a function of the Laplacian eigenvalue.

    Args:
        weights: Chebyshev weights as in :func:`filter_signal`.
        lam: Laplacian eigenvalues in [0, 2], any shape.

    Returns:
        ``[*lam.shape, channels]``; one channel if all channels share a filter.
    """
    if weights.ndim == 1:
        weights = weights[:, None]
    if len(weights) == 1:
        return weights[0].expand(*lam.shape, -1)
    values = Chebyshev().evaluate(lam, hops=len(weights) - 1)
    return torch.einsum("k...,kc->...c", values, weights.to(values))


class _FilterSignal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weights: Tensor, rows: CompressedRows) -> Tensor:
        ctx.save_for_backward(x, weights)
        ctx.rows = rows
        return chebyshev_sum(rows, x, weights)[0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weights = ctx.saved_tensors
        grad_x, grad_weights = chebyshev_sum(ctx.rows, grad, weights, x if ctx.needs_input_grad[1] else None)
        return grad_x, grad_weights, None
