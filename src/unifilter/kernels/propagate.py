r"""Products of dense signals with the propagation matrix, and polynomials of it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from unifilter.kernels.backend import use_compiled
from unifilter.kernels.compressed_rows import CompressedRows


def propagate(rows: CompressedRows, x: Tensor) -> Tensor:
    r""":math:`\mathbf{P} x` for dense ``x`` ``[num_nodes, channels]``; differentiable any number of times."""
    return _Propagate.apply(x, rows)  # type: ignore[no-any-return,no-untyped-call]


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: CompressedRows) -> Tensor:
        ctx.rows = rows
        # P is -T_1(-P).
        weights = torch.tensor([[0.0], [-1.0]], dtype=x.dtype, device=x.device)
        return chebyshev_sum(rows, x, weights.expand(-1, x.shape[1]))[0]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        # P is symmetric.
        return propagate(ctx.rows, grad), None


def chebyshev_sum(
    rows: CompressedRows, x: Tensor, weights: Tensor, partner: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    r""":math:`\sum_k w_k T_k(-\mathbf{P}) x` with one pass over the edges for each k above 0; not differentiable.

    Args:
        rows: The graph.
        x: Signal ``[num_nodes, channels]``.
        weights: ``[K + 1, channels]``.
        partner: Another signal y; then the inner products :math:`\langle y, T_k(-\mathbf{P}) x \rangle` are returned
            too, ``[K + 1, channels]``.
    """
    if not use_compiled(x):
        return _chebyshev_sum_torch(rows, x, weights, partner)
    from unifilter.kernels.compiled.chebyshev import chebyshev_sum_compiled

    return chebyshev_sum_compiled(rows, x, weights, partner)


def chebyshev_pair(rows: CompressedRows, both: Tensor, weights: Tensor) -> Tensor:
    r"""Two filters on a signal each, summed: :math:`\sum_k T_k(-\mathbf{P}) (w_{0k} x_0 + w_{1k} x_1)`, in K products.

    Args:
        rows: The graph.
        both: The signals beside each other, ``[num_nodes, 2 channels]``.
        weights: ``[2, K + 1]`` with K of at least 1.
    """
    if use_compiled(both):
        from unifilter.kernels.compiled.chebyshev import chebyshev_pair_compiled

        return chebyshev_pair_compiled(rows, both, weights)
    one, other = _chebyshev_sum_torch(rows, both, _per_column(weights, both), None)[0].chunk(2, dim=1)
    return one + other


def chebyshev_split(
    rows: CompressedRows, x: Tensor, weights: Tensor, partner: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    r"""Two filters on one signal, in K products: what :func:`chebyshev_pair` gives back to its signals and weights.

    Args:
        rows: The graph.
        x: Signal ``[num_nodes, channels]``.
        weights: Of both filters, ``[2, K + 1]`` with K of at least 1.
        partner: Two signals y beside each other; then the inner products
            :math:`\langle y_i, T_k(-\mathbf{P}) x \rangle` are returned too, summed over the channels, ``[2, K + 1]``.

    Returns:
        The filtered signals beside each other, ``[num_nodes, 2 channels]``, and the inner products.
    """
    if use_compiled(x):
        from unifilter.kernels.compiled.chebyshev import chebyshev_split_compiled

        return chebyshev_split_compiled(rows, x, weights, partner)
    both = torch.cat([x, x], dim=1)
    result, inner = _chebyshev_sum_torch(rows, both, _per_column(weights, both), partner)
    return result, None if inner is None else inner.reshape(len(inner), 2, -1).sum(dim=2).T


def _per_column(weights: Tensor, both: Tensor) -> Tensor:
    """The weights of each half of the columns."""
    return weights.to(both).T.repeat_interleave(both.shape[1] // 2, dim=1)


def _chebyshev_sum_torch(
    rows: CompressedRows, x: Tensor, weights: Tensor, partner: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """The same in plain torch, on any device."""
    multiply = rows.torch_product(x.dtype)
    previous, current = torch.zeros_like(x), x.detach()
    total = weights[0] * current
    inner = [] if partner is None else [(partner * current).sum(dim=0)]
    for k in range(1, len(weights)):
        previous, current = current, multiply(current) * (-1 if k == 1 else -2) - previous
        total += weights[k] * current
        if partner is not None:
            inner.append((partner * current).sum(dim=0))
    return total.detach(), torch.stack(inner).detach() if inner else None
