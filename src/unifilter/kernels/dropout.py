"""Dropout whose mask is a hash of the position: several times faster on the CPU than drawing it from a generator."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from unifilter.kernels.backend import use_compiled
from unifilter.kernels.random_bits import ALWAYS, draw_seed, drop_threshold, dropped

# Shorter rows are left to torch's own dropout.
_LEAST_BYTES = 128


def dropout(x: Tensor, p: float) -> Tensor:
    """Like :func:`torch.nn.functional.dropout` in training, on ``[rows, columns]``; the seed is torch's."""
    if drop_threshold(p) == ALWAYS:
        return x
    suits = x.dtype in (torch.float32, torch.float64) and x.ndim == 2
    if not suits or x.shape[1] * x.element_size() < _LEAST_BYTES:
        return functional.dropout(x, p)
    return drop_rows(x, p, draw_seed())


def drop_rows(x: Tensor, p: float, seed: int, first_row: int = 0) -> Tensor:
    """Dropout on rows of a matrix, from ``first_row`` on, with the mask that a seed gives them."""
    if drop_threshold(p) == ALWAYS:
        return x
    if use_compiled(x) and x.shape[1] * x.element_size() >= _LEAST_BYTES:
        return _DropRows.apply(x, p, seed, first_row)  # type: ignore[no-any-return,no-untyped-call]
    return dropped(x, p, seed, first_row)


def drop_rows_into(x: Tensor, p: float, seed: int, first_row: int, result: Tensor) -> Tensor:
    """The same without a gradient, written to another matrix; nothing is written where nothing is dropped."""
    if drop_threshold(p) == ALWAYS:
        return x
    if use_compiled(x) and x.shape[1] * x.element_size() >= _LEAST_BYTES:
        from unifilter.kernels.compiled.dropout import drop_rows_compiled

        return drop_rows_compiled(x, p, seed, first_row, result)
    return result.copy_(dropped(x, p, seed, first_row))


class _DropRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, *mask: Any) -> Tensor:
        from unifilter.kernels.compiled.dropout import drop_rows_compiled

        ctx.mask = mask
        return drop_rows_compiled(x, *mask)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        # The same mask on the gradient, by the same function, which is then differentiable again.
        return _DropRows.apply(grad, *ctx.mask), None, None, None  # type: ignore[no-untyped-call]
