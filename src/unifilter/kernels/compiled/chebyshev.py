r"""Chebyshev polynomials of the propagation matrix, one pass over the edges each, made for short rows.

A signal ``v`` is kept as ``v / sqrt(degree)``: a row of the product is then a plain sum over neighbors. All else that
a hop of a polynomial filter does to a row (recurrence, weighted sum, inner product) happens in the same pass.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unifilter.kernels.compiled.compiling import compile_kernel
from unifilter.kernels.compiled.lanes import (
    NEIGHBORS_AHEAD,
    Width,
    fitting_width,
    load,
    prefetch_for_reading,
    splat,
    store,
)
from unifilter.kernels.compressed_rows import CompressedRows
from unifilter.kernels.threads import for_each

# Sums over rows are taken over so many at a time, whatever the number of threads: it cannot change a result.
_ROWS_PER_SUM = 256
# A signal larger than this is not in a core's own cache: neighbors are then requested ahead.
_NEAR_BYTES = 1 << 20
# A core adds so many numbers in about a tenth of a millisecond: with less to do, waking a thread would take longer.
_ADDITIONS_PER_THREAD = 1 << 20


def chebyshev_sum_compiled(
    rows: CompressedRows, x: Tensor, weights: Tensor, partner: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """See :func:`unifilter.kernels.propagate.chebyshev_sum`."""
    channels, terms = x.shape[1], weights.detach().to(x.dtype)
    source, other = _as_array(x), None if partner is None else _as_array(partner)
    result = torch.empty(x.shape, dtype=x.dtype)
    inner = torch.empty(len(weights), channels, dtype=x.dtype)
    root, inverse_root, inverse_degree = ((rows.root_degree**power).to(x.dtype).numpy() for power in (1, -1, -2))
    edge_weights = None if rows.weights is None else rows.weights.to(x.dtype).numpy()
    structure = rows.row_start.numpy(), rows.neighbors.numpy(), edge_weights, inverse_degree
    # Columns are independent: each group of them goes through all hops alone, with little to keep in cache.
    begin = 0
    while begin < channels:
        width = fitting_width(channels - begin, x.element_size())
        end = min(begin + len(width), channels)
        # torch's memory starts on a cache line and numpy's does not: else half of the short rows would lie on two.
        current, previous, total, paired = torch.empty(4, len(x), len(width), dtype=x.dtype).numpy()
        _read_columns(source, begin, inverse_root, current)
        if other is not None:
            _read_columns(other, begin, root, paired)
        group = torch.nn.functional.pad(terms[:, begin:end], (0, len(width) - (end - begin))).numpy()
        sums = _chebyshev_columns(structure, current, previous, total, None if other is None else paired, group, width)
        _write_columns(total, root, result.numpy(), begin)
        inner[:, begin:end] = torch.from_numpy(sums[:, : end - begin])
        begin = end
    return result, None if partner is None else inner


def _as_array(signal: Tensor) -> np.ndarray:
    return signal.detach().contiguous().numpy()


def _chebyshev_columns(
    structure: tuple[Any, ...],
    current: np.ndarray,
    previous: np.ndarray,
    total: np.ndarray,
    paired: np.ndarray | None,
    terms: np.ndarray,
    width: Width,
) -> np.ndarray:
    """The sum of one group of columns into ``total``; the inner products with ``paired``, where there is one."""
    nodes = len(current)
    np.multiply(current, terms[0], out=total)
    previous[:, :] = 0
    sums = np.zeros((len(terms), math.ceil(nodes / _ROWS_PER_SUM), len(width)), current.dtype)
    if paired is not None:
        _sum_products(current, paired, sums[0])
    shares = _shares_of_rows(structure[0], len(width))
    for k in range(1, len(terms)):
        factor = current.dtype.type(-1 if k == 1 else -2)
        arguments = (*structure, factor, current, previous, total, terms[k], paired, sums[k], width)
        for_each(partial(_hop_on_share, arguments), shares)
        current, previous = previous, current
    products: np.ndarray = sums.sum(axis=1)
    return products


def _shares_of_rows(row_start: np.ndarray, columns: int) -> list[tuple[int, int]]:
    """First and last row of each thread's share, with as many edges each, cut where the sums are."""
    nodes, entries = len(row_start) - 1, int(row_start[-1])
    threads = max(1, min(torch.get_num_threads(), (entries + nodes) * columns // _ADDITIONS_PER_THREAD))
    cuts = np.searchsorted(row_start, [entries * part // threads for part in range(1, threads)])
    begins = sorted({0, *(int(cut) // _ROWS_PER_SUM * _ROWS_PER_SUM for cut in cuts)})
    return list(zip(begins, [*begins[1:], nodes], strict=True))


def _hop_on_share(arguments: tuple[Any, ...], share: tuple[int, int]) -> None:
    _hop(*arguments, *share)


@compile_kernel
def _read_columns(signal, start, factor, block):  # type: ignore[no-untyped-def]
    """``factor[row]`` times the columns from ``start`` on, zero where there are none."""
    found = min(signal.shape[1] - start, block.shape[1])
    for row in range(block.shape[0]):
        for column in range(found):
            block[row, column] = factor[row] * signal[row, start + column]
        for column in range(found, block.shape[1]):
            block[row, column] = 0


@compile_kernel
def _write_columns(block, factor, signal, start):  # type: ignore[no-untyped-def]
    for row in range(block.shape[0]):
        for column in range(min(signal.shape[1] - start, block.shape[1])):
            signal[row, start + column] = factor[row] * block[row, column]


@compile_kernel
def _sum_products(left, right, sums):  # type: ignore[no-untyped-def]
    for row in range(left.shape[0]):
        for column in range(left.shape[1]):
            sums[row // _ROWS_PER_SUM, column] += left[row, column] * right[row, column]


@compile_kernel
def _hop(  # type: ignore[no-untyped-def]
    row_start, neighbors, weights, inverse_degree,
    factor, current, previous, total, term, partner, sums, width, begin, end,
):  # fmt: skip
    """On some rows: ``previous`` becomes ``following = factor P current - previous``, ``total`` grows by
    ``term * following`` and ``sums`` by ``partner * following``.
    """
    far = current.size * current.itemsize > _NEAR_BYTES
    weight = load(term, (0,), width)
    for row in range(begin, end):
        # Two sums side by side: additions overlap instead of waiting for each other.
        even = odd = splat(current.dtype.type(0), width)
        entry, stop = row_start[row], row_start[row + 1]
        if weights is None:
            while entry + 2 <= stop:
                if far and entry + NEIGHBORS_AHEAD + 1 < len(neighbors):
                    for ahead in range(entry + NEIGHBORS_AHEAD, entry + NEIGHBORS_AHEAD + 2):
                        # The first and the last number: a row lies on two cache lines at most.
                        prefetch_for_reading(current, (neighbors[ahead], 0))
                        prefetch_for_reading(current, (neighbors[ahead], len(width) - 1))
                even = even + load(current, (neighbors[entry], 0), width)
                odd = odd + load(current, (neighbors[entry + 1], 0), width)
                entry += 2
            if entry < stop:
                even = even + load(current, (neighbors[entry], 0), width)
        else:
            while entry < stop:
                even = even + splat(weights[entry], width) * load(current, (neighbors[entry], 0), width)
                entry += 1
        scale = splat(factor * inverse_degree[row], width)
        following = (even + odd) * scale - load(previous, (row, 0), width)
        store(previous, (row, 0), following)
        store(total, (row, 0), load(total, (row, 0), width) + weight * following)
        if partner is not None:
            block = row // _ROWS_PER_SUM
            product = load(partner, (row, 0), width) * following
            store(sums, (block, 0), load(sums, (block, 0), width) + product)
