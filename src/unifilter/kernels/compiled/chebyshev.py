r"""Chebyshev polynomials of the propagation matrix, one pass over the edges each, made for short rows.

A signal ``v`` is kept as ``v / sqrt(degree)``: a row of the product is then a plain sum over neighbors. All else that
a hop of a polynomial filter does to a row (recurrence, weighted sum, inner product) happens in the same pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
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

# Number of rows per partial sum. It is fixed, so that the number of threads cannot change a result.
_ROWS_PER_SUM = 256
# For a filter of one signal alone.
_NO_SECOND = (None,) * 6
# A signal larger than this is not in a core's own cache: neighbors are then requested ahead.
_NEAR_BYTES = 1 << 20
# A core adds this many numbers in about a tenth of a millisecond. With less work, waking a thread takes longer.
_ADDITIONS_PER_THREAD = 1 << 20


def chebyshev_sum_compiled(
    rows: CompressedRows, x: Tensor, weights: Tensor, partner: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """See :func:`unifilter.kernels.propagate.chebyshev_sum`."""
    channels, terms = x.shape[1], weights.detach().to(x.dtype)
    source, other = _as_array(x), None if partner is None else _as_array(partner)
    result = torch.empty(x.shape, dtype=x.dtype)
    inner = torch.empty(len(weights), channels, dtype=x.dtype)
    root, inverse_root, structure = _scales_and_structure(rows, x.dtype)
    # Columns are independent: each group of them goes through all hops alone, with little to keep in cache.
    for begin, end, width in _groups(x):
        # torch's memory starts on a cache line and numpy's does not: else half of the short rows would lie on two.
        current, previous, total, paired = torch.empty(4, len(x), len(width), dtype=x.dtype).numpy()
        _read_columns(source, begin, inverse_root, current)
        if other is not None:
            _read_columns(other, begin, root, paired)
        group = torch.nn.functional.pad(terms[:, begin:end], (0, len(width) - (end - begin))).numpy()
        sums = _chebyshev_columns(structure, current, previous, total, None if other is None else paired, group, width)
        _write_columns(total, root, result.numpy(), begin)
        inner[:, begin:end] = torch.from_numpy(sums[:, : end - begin])
    return result, None if partner is None else inner


def chebyshev_pair_compiled(rows: CompressedRows, first: Tensor, second: Tensor, weights: Tensor) -> Tensor:
    """See :func:`unifilter.kernels.propagate.chebyshev_pair`."""
    sources = _as_array(first), _as_array(second)
    result = torch.empty_like(first, memory_format=torch.contiguous_format)
    root, inverse_root, structure = _scales_and_structure(rows, first.dtype)
    for begin, end, width in _groups(first):
        current, previous, one, other = torch.empty(4, len(first), len(width), dtype=first.dtype).numpy()
        _read_columns(sources[0], begin, inverse_root, one)
        _read_columns(sources[1], begin, inverse_root, other)
        terms = _filled(weights, first.dtype, len(width))
        # Clenshaw's recurrence, from the highest degree down: one product for both signals.
        np.multiply(one, terms[0, -1], out=current)
        current += other * terms[1, -1]
        previous[:, :] = 0
        shares = _shares_of_rows(structure[0], len(width))
        for k in range(weights.shape[1] - 2, -1, -1):
            factor = current.dtype.type(-1 if k == 0 else -2)
            arguments = (
                *structure, factor, current, previous, None, terms[0, k], None, None,
                None, terms[1, k], None, None, one, other, width,
            )  # fmt: skip
            for_each(partial(_hop_on_share, arguments), shares)
            current, previous = previous, current
        _write_columns(current, root, result.numpy()[:, :end], begin)
    return result


def chebyshev_split_compiled(
    rows: CompressedRows, x: Tensor, weights: Tensor, partners: tuple[Tensor, Tensor] | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """See :func:`unifilter.kernels.propagate.chebyshev_split`."""
    source = _as_array(x)
    others = None if partners is None else tuple(map(_as_array, partners))
    results = tuple(torch.empty_like(x, memory_format=torch.contiguous_format) for _ in range(2))
    inner = torch.zeros(weights.shape, dtype=x.dtype)
    root, inverse_root, structure = _scales_and_structure(rows, x.dtype)
    for begin, end, width in _groups(x):
        current, previous, *totals = torch.empty(4, len(x), len(width), dtype=x.dtype).numpy()
        _read_columns(source, begin, inverse_root, current)
        terms = _filled(weights, x.dtype, len(width))
        sums: Any = np.zeros((2, weights.shape[1], math.ceil(len(x) / _ROWS_PER_SUM), len(width)), current.dtype)
        paired: list[Any] = [None, None]
        for index in range(2):
            np.multiply(current, terms[index, 0], out=totals[index])
            if others is not None:
                paired[index] = torch.empty(len(x), len(width), dtype=x.dtype).numpy()
                _read_columns(others[index], begin, root, paired[index])
                _sum_products(current, paired[index], sums[index, 0])
        previous[:, :] = 0
        shares = _shares_of_rows(structure[0], len(width))
        for k in range(1, weights.shape[1]):
            factor = current.dtype.type(-1 if k == 1 else -2)
            arguments = (
                *structure, factor, current, previous, totals[0], terms[0, k], paired[0], sums[0, k],
                totals[1], terms[1, k], paired[1], sums[1, k], None, None, width,
            )  # fmt: skip
            for_each(partial(_hop_on_share, arguments), shares)
            current, previous = previous, current
        for total, result in zip(totals, results, strict=True):
            _write_columns(total, root, result.numpy()[:, :end], begin)
        inner += torch.from_numpy(sums[..., : end - begin].sum(axis=(2, 3)))
    return results[0], results[1], None if partners is None else inner


def _groups(x: Tensor) -> Iterator[tuple[int, int, Width]]:
    """Columns that go through all hops together: where they begin and end, and the width of their vectors."""
    begin = 0
    while begin < x.shape[1]:
        width = fitting_width(x.shape[1] - begin, x.element_size())
        end = min(begin + len(width), x.shape[1])
        yield begin, end, width
        begin = end


def _filled(weights: Tensor, dtype: torch.dtype, columns: int) -> np.ndarray:
    """Weights ``[terms, K + 1]`` repeated for each column."""
    return weights.detach().to(dtype)[..., None].repeat(1, 1, columns).numpy()


def _scales_and_structure(rows: CompressedRows, dtype: torch.dtype) -> tuple[np.ndarray, np.ndarray, tuple[Any, ...]]:
    root, inverse_root, inverse_degree = ((rows.root_degree**power).to(dtype).numpy() for power in (1, -1, -2))
    edge_weights = None if rows.weights is None else rows.weights.to(dtype).numpy()
    return root, inverse_root, (rows.row_start.numpy(), rows.neighbors.numpy(), edge_weights, inverse_degree)


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
        arguments = (*structure, factor, current, previous, total, terms[k], paired, sums[k], *_NO_SECOND, width)
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
    factor, current, previous, total, term, partner, sums,
    other_total, other_term, other_partner, other_sums, added, other_added, width, begin, end,
):  # fmt: skip
    """On some rows: ``previous`` becomes ``following = factor P current - previous``, ``total`` grows by
    ``term * following`` and ``sums`` by ``partner * following``, and the same for the others.

    Where there is something to be ``added``, times ``term``, it is part of ``following``, and there is no total.
    """
    far = current.size * current.itemsize > _NEAR_BYTES
    weight = load(term, (0,), width)
    other_weight = weight
    if other_term is not None:
        other_weight = load(other_term, (0,), width)
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
        if added is not None:
            following = following + weight * load(added, (row, 0), width)
            following = following + other_weight * load(other_added, (row, 0), width)
        store(previous, (row, 0), following)
        if total is not None:
            store(total, (row, 0), load(total, (row, 0), width) + weight * following)
        if other_total is not None:
            store(other_total, (row, 0), load(other_total, (row, 0), width) + other_weight * following)
        block = row // _ROWS_PER_SUM
        if partner is not None:
            product = load(partner, (row, 0), width) * following
            store(sums, (block, 0), load(sums, (block, 0), width) + product)
        if other_partner is not None:
            product = load(other_partner, (row, 0), width) * following
            store(other_sums, (block, 0), load(other_sums, (block, 0), width) + product)
