"""Products of a large matrix with a few vectors, both ways, at the speed at which the matrix is read.

A library's matrix product is made for two large matrices: with a handful of vectors it takes about twice as long, and
many times where the layout of the slope does not suit it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from unifilter.kernels.compiling import compile_kernel
from unifilter.kernels.row_lanes import (
    ROW_BYTES,
    ROWS,
    add_rows,
    at_rows,
    load_for_rows,
    load_rows,
    row_totals,
    rows_from,
    same,
    splat_rows,
)
from unifilter.kernels.threads import for_each, parts_of

# Columns of four rows that stay in the cache of one core while the channels go by.
_COLUMNS = 512
# With more channels the processor has more to do than to read, and the library's product is faster.
_MAX_CHANNELS = 12


def to_spectrum(vectors: Tensor, x: Tensor) -> Tensor:
    """``x^T vectors``, ``[channels, k]``, for ``x [n, channels]`` and ``vectors [n, k]``; the vectors are constants."""
    return _ToSpectrum.apply(x, vectors.detach())  # type: ignore[no-any-return,no-untyped-call]


def from_spectrum(vectors: Tensor, spectral: Tensor) -> Tensor:
    """``vectors spectral^T``, ``[n, channels]``, for ``spectral [channels, k]``; the vectors are constants."""
    return _FromSpectrum.apply(spectral, vectors.detach())  # type: ignore[no-any-return,no-untyped-call]


class _ToSpectrum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, vectors: Tensor) -> Tensor:
        ctx.vectors = vectors
        x = x.detach()
        return _summed(vectors, x.contiguous()) if _suits(vectors, x, x.shape[1]) else x.T.contiguous() @ vectors

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        return from_spectrum(ctx.vectors, slope), None


class _FromSpectrum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, spectral: Tensor, vectors: Tensor) -> Tensor:
        ctx.vectors = vectors
        spectral = spectral.detach().contiguous()
        suits = _suits(vectors, spectral, len(spectral))
        return _dotted(vectors, spectral) if suits else (spectral @ vectors.T).T.contiguous()

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        return to_spectrum(ctx.vectors, slope), None


def _suits(vectors: Tensor, few: Tensor, channels: int) -> bool:
    wide = vectors.shape[1] * vectors.element_size() >= ROW_BYTES and len(vectors) > 0
    on_cpu = vectors.device.type == "cpu" and vectors.is_contiguous()
    alike = few.dtype == vectors.dtype and vectors.dtype in (torch.float32, torch.float64)
    return wide and on_cpu and alike and channels <= _MAX_CHANNELS


def _summed(vectors: Tensor, x: Tensor) -> Tensor:
    matrix, channels = vectors.numpy(), x.numpy()
    parts = parts_of(len(matrix))
    # One sum for each part, then all of them in order: the result does not depend on the number of threads.
    sums = np.zeros((len(parts), channels.shape[1], matrix.shape[1]), matrix.dtype)

    def work(index: int) -> None:
        _add_products(matrix[parts[index]], channels[parts[index]], sums[index])

    for_each(work, range(len(parts)), matrix.size)
    return torch.from_numpy(sums).sum(dim=0)


def _dotted(vectors: Tensor, spectral: Tensor) -> Tensor:
    result = torch.empty(len(vectors), len(spectral), dtype=vectors.dtype)
    matrix, channels, rows = vectors.numpy(), spectral.numpy(), result.numpy()

    def work(part: slice) -> None:
        _dot_products(matrix[part], channels, rows[part])

    for_each(work, parts_of(len(matrix)), matrix.size)
    return result


@compile_kernel
def _add_products(matrix, x, sums):  # type: ignore[no-untyped-def]
    """``sums += x^T matrix``."""
    nodes, columns = matrix.shape
    channels = x.shape[1]
    lanes = ROW_BYTES // matrix.itemsize
    whole = columns // lanes * lanes
    factors = np.empty((ROWS, channels), matrix.dtype)
    for first in range(0, nodes, ROWS):
        rows = rows_from(first, nodes)
        for place in range(ROWS):
            # A row that stands for one past the last must not count again.
            counts = first + place < nodes
            for channel in range(channels):
                factors[place, channel] = x[rows[place], channel] if counts else 0
        for begin in range(0, whole, _COLUMNS):
            for channel in range(channels):
                factor = splat_rows(at_rows(factors[:, channel], (0, 1, 2, 3)))
                for column in range(begin, min(begin + _COLUMNS, whole), lanes):
                    add_rows(sums, (channel, column), load_rows(matrix, (), rows, column), factor)
        for column in range(whole, columns):
            for channel in range(channels):
                for place in range(ROWS):
                    sums[channel, column] += matrix[rows[place], column] * factors[place, channel]


@compile_kernel
def _dot_products(matrix, spectral, result):  # type: ignore[no-untyped-def]
    """``result = matrix spectral^T``."""
    nodes, columns = matrix.shape
    channels = len(spectral)
    lanes = ROW_BYTES // matrix.itemsize
    whole = columns // lanes * lanes
    zero = matrix.dtype.type(0)
    sums = np.empty((channels, ROWS), matrix.dtype)
    for first in range(0, nodes, ROWS):
        rows = rows_from(first, nodes)
        sums[:] = zero
        for begin in range(0, whole, _COLUMNS):
            for channel in range(channels):
                products = splat_rows(same(zero))
                for column in range(begin, min(begin + _COLUMNS, whole), lanes):
                    products = products + load_rows(matrix, (), rows, column) * load_for_rows(
                        spectral, (channel, column)
                    )
                totals = row_totals(products)
                for place in range(ROWS):
                    sums[channel, place] += totals[place]
        for place in range(ROWS):
            for channel in range(channels):
                rest = zero
                for column in range(whole, columns):
                    rest += matrix[rows[place], column] * spectral[channel, column]
                # Rows past the last are the last again: whatever is written twice is the same.
                result[rows[place], channel] = sums[channel, place] + rest
