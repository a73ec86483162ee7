"""Dropout on the rows of a matrix."""

from __future__ import annotations

import torch
from torch import Tensor

from unifilter.kernels.compiled.compiling import compile_kernel
from unifilter.kernels.compiled.lanes import BYTES, keep, load, splat, store
from unifilter.kernels.compiled.random_bits import make_mask, mixed_key
from unifilter.kernels.threads import for_each, parts_of


def drop_rows_compiled(x: Tensor, p: float, seed: int, first_row: int, result: Tensor | None = None) -> Tensor:
    """The rows with the mask that a seed gives them; each has at least ``BYTES``. Not differentiable.

    They are written to ``result``, which must not overlap ``x``, or to new memory.
    """
    source = x.detach().contiguous().numpy()
    # torch's memory starts on a cache line, numpy's anywhere: a matrix product may round differently by that.
    result = torch.empty(source.shape, dtype=x.dtype) if result is None else result
    target, mask = result.numpy(), make_mask(p, seed, source.dtype)

    def drop_part(part: slice) -> None:
        _drop_rows(source[part], first_row + part.start, mask, target[part])

    for_each(drop_part, parts_of(len(source), source.size), source.size)
    return result


@compile_kernel
def _drop_rows(source, first_row, mask, result):  # type: ignore[no-untyped-def]
    columns = source.shape[1]
    lanes = BYTES // source.itemsize
    for row in range(source.shape[0]):
        bits = mixed_key(mask.key, first_row + row, 0)
        for start in range(0, columns, lanes):
            # The last vector of columns overlaps the one before: whatever it writes twice is the same.
            column = min(start, columns - lanes)
            kept = keep(load(source, (row, column), BYTES), bits, column, mask.threshold)
            store(result, (row, column), kept * splat(mask.scale, BYTES))
