"""Sparse rows times dense matrices, and dropout on their entries: the first layer of a network on a bag of words."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from unifilter.kernels.compiling import compile_kernel
from unifilter.kernels.lanes import store
from unifilter.kernels.narrow_lanes import fitting_width, load_narrow, splat_narrow
from unifilter.kernels.random_bits import is_kept, make_mask, mixed_key
from unifilter.kernels.threads import for_each, parts_of


def sparse_product(starts: Tensor, places: Tensor, values: Tensor, dense: Tensor) -> Tensor:
    """``rows @ dense`` for compressed rows; not differentiable.

    Args:
        starts: Where each row begins among the entries.
        places: The column of each entry.
        values: The value of each entry.
        dense: ``[columns, channels]``.
    """
    return _multiply(starts.numpy(), places.numpy(), values.numpy(), dense)


def drop_entries(starts: Tensor, places: Tensor, values: Tensor, p: float, seed: int) -> Tensor:
    """The values with dropout at a rate of ``p``; the mask is that of a dense matrix, see :func:`drop_rows`."""
    result = torch.empty_like(values)
    mask = make_mask(p, seed, values.numpy().dtype)
    _drop_entries(starts.numpy(), places.numpy(), values.numpy(), mask, result.numpy())
    return result


def _multiply(starts: np.ndarray, places: np.ndarray, values: np.ndarray, dense: Tensor) -> Tensor:
    channels = dense.shape[1]
    width = fitting_width(channels, dense.element_size())
    rest = -channels % len(width)
    source = pad(dense.detach(), (0, rest)).contiguous().numpy()
    # torch's memory starts on a cache line, numpy's anywhere: a matrix product may round differently by that.
    product = torch.empty(len(starts) - 1, channels + rest, dtype=dense.dtype)
    result = product.numpy()

    def multiply_part(part: slice) -> None:
        _multiply_rows(starts[part.start : part.stop + 1], places, values, source, result[part], width)

    for_each(multiply_part, parts_of(len(result)), len(values) * result.shape[1])
    return product[:, :channels].contiguous()


@compile_kernel
def _multiply_rows(starts, places, values, source, result, width):  # type: ignore[no-untyped-def]
    for row in range(len(starts) - 1):
        for column in range(0, result.shape[1], len(width)):
            total = splat_narrow(values.dtype.type(0), width)
            for entry in range(starts[row], starts[row + 1]):
                total = total + splat_narrow(values[entry], width) * load_narrow(source, (places[entry], column), width)
            store(result, (row, column), total)


@compile_kernel
def _drop_entries(starts, columns, values, mask, result):  # type: ignore[no-untyped-def]
    for row in range(len(starts) - 1):
        bits = mixed_key(mask.key, row, 0)
        for entry in range(starts[row], starts[row + 1]):
            kept = is_kept(bits, columns[entry], mask.threshold)
            result[entry] = values[entry] * mask.scale if kept else values.dtype.type(0)
