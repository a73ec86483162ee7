"""Dropout whose mask is a hash of the position: several times faster on the CPU than drawing it from a generator."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from unifilter.kernels.compiling import compile_kernel
from unifilter.kernels.lanes import BYTES, keep, load, splat, store
from unifilter.kernels.random_bits import ALWAYS, draw_seed, drop_threshold, make_mask, mixed_key
from unifilter.kernels.threads import for_each, parts_of


def dropout(x: Tensor, p: float) -> Tensor:
    """Like :func:`torch.nn.functional.dropout` in training, on ``[rows, columns]``; the seed is torch's."""
    if drop_threshold(p) == ALWAYS:
        return x
    suits = x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64) and x.ndim == 2
    if not suits or x.shape[1] * x.element_size() < BYTES:
        return functional.dropout(x, p)
    return _Dropout.apply(x, p, draw_seed())  # type: ignore[no-any-return,no-untyped-call]


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float, seed: int) -> Tensor:
        ctx.p, ctx.seed = p, seed
        return drop_rows(x, p, seed)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        # The same mask on the slope, by the same function, which is then differentiable again.
        return _Dropout.apply(grad, ctx.p, ctx.seed), None, None  # type: ignore[no-untyped-call]


def drop_rows(x: Tensor, p: float, seed: int, first_row: int = 0) -> Tensor:
    """Some rows of a matrix with the mask that a seed gives them; not differentiable."""
    source = x.detach().contiguous().numpy()
    # torch's memory starts on a cache line, numpy's anywhere: a matrix product may round differently by that.
    dropped = torch.empty(source.shape, dtype=x.dtype)
    result = dropped.numpy()
    mask = make_mask(p, seed, source.dtype)

    def drop_part(part: slice) -> None:
        _drop_rows(source[part], first_row + part.start, mask, result[part])

    for_each(drop_part, parts_of(len(source)), source.size)
    return dropped


@compile_kernel
def _drop_rows(source, first_row, mask, result):  # type: ignore[no-untyped-def]
    columns = source.shape[1]
    lanes = BYTES // source.itemsize
    for row in range(source.shape[0]):
        bits = mixed_key(mask.key, first_row + row, 0)
        for start in range(0, columns, lanes):
            # The last vector of columns overlaps the one before: whatever it writes twice is the same.
            column = min(start, columns - lanes)
            kept = keep(load(source, (row, column)), bits, column, mask.threshold)
            store(result, (row, column), kept * splat(mask.scale))
