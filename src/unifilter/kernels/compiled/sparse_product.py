"""Sparse rows times dense matrices, and dropout on their entries."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from unifilter.kernels.compiled.compiling import compile_kernel
from unifilter.kernels.compiled.lanes import fitting_width, load, splat, store
from unifilter.kernels.compiled.random_bits import is_kept, make_mask, mixed_key
from unifilter.kernels.threads import for_each, parts_of


def multiply(starts: Tensor, places: Tensor, values: Tensor, dense: Tensor) -> Tensor:
    """See :func:`unifilter.kernels.sparse_product.sparse_product`."""
    structure = starts.numpy(), places.numpy(), values.numpy()
    channels = dense.shape[1]
    width = fitting_width(channels, dense.element_size())
    rest = -channels % len(width)
    source = pad(dense.detach(), (0, rest)).contiguous().numpy()
    # torch's memory starts on a cache line, numpy's anywhere: a matrix product may round differently by that.
    product = torch.empty(len(starts) - 1, channels + rest, dtype=dense.dtype)
    result = product.numpy()

    def multiply_part(part: slice) -> None:
        _multiply_rows(*structure, part.start, source, result[part], width)

    numbers = len(values) * result.shape[1]
    for_each(multiply_part, parts_of(len(result), numbers), numbers)
    return product[:, :channels].contiguous()


def drop(starts: Tensor, places: Tensor, values: Tensor, p: float, seed: int) -> Tensor:
    """See :func:`unifilter.kernels.sparse_product.drop_entries`."""
    result = torch.empty_like(values)
    mask = make_mask(p, seed, values.numpy().dtype)
    _drop_entries(starts.numpy(), places.numpy(), values.numpy(), mask, result.numpy())
    return result


@compile_kernel
def _multiply_rows(starts, places, values, first_row, source, result, width):  # type: ignore[no-untyped-def]
    for row in range(len(result)):
        begin, end = starts[first_row + row], starts[first_row + row + 1]
        for column in range(0, result.shape[1], len(width)):
            total = splat(values.dtype.type(0), width)
            for entry in range(begin, end):
                total = total + splat(values[entry], width) * load(source, (places[entry], column), width)
            store(result, (row, column), total)


@compile_kernel
def _drop_entries(starts, columns, values, mask, result):  # type: ignore[no-untyped-def]
    for row in range(len(starts) - 1):
        bits = mixed_key(mask.key, row, 0)
        for entry in range(starts[row], starts[row + 1]):
            kept = is_kept(bits, columns[entry], mask.threshold)
            result[entry] = values[entry] * mask.scale if kept else values.dtype.type(0)
