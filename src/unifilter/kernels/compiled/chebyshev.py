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
_NO_SECOND = (None,) * 7
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


def chebyshev_pair_compiled(rows: CompressedRows, both: Tensor, weights: Tensor) -> Tensor:
    """See :func:`unifilter.kernels.propagate.chebyshev_pair`."""
    nodes, columns, weights = len(both), both.shape[1] // 2, weights.detach().to(both.dtype)
    sources = both.detach().chunk(2, dim=1)
    result = torch.empty(nodes, columns, dtype=both.dtype)
    root, inverse_root, structure = _scales_and_structure(rows, both.dtype)
    for begin, end, width in _groups(result):
        one, other = (_columns(source, begin, end, width) for source in sources)
        current, previous = torch.empty(2, nodes, len(width), dtype=both.dtype)
        # Clenshaw's recurrence, from the highest degree down: one product for both signals.
        torch.mul(one, weights[0, -1], out=current)
        current.add_(other, alpha=float(weights[1, -1])).mul_(torch.from_numpy(inverse_root)[:, None])
        previous.zero_()
        here, before, *added = current.numpy(), previous.numpy(), one.numpy(), other.numpy()
        terms = _filled(weights, len(width))
        shares = _shares_of_rows(structure[0], len(width))
        for k in range(weights.shape[1] - 2, -1, -1):
            factor = here.dtype.type(-1 if k == 0 else -2)
            arguments = (
                *structure, factor, here, before, None, terms[0, k], None, None,
                None, terms[1, k], None, None, *added, inverse_root, width,
            )  # fmt: skip
            for_each(partial(_hop_on_share, arguments), shares)
            here, before = before, here
        _write_columns(here, root, result.numpy()[:, :end], begin)
    return result


def chebyshev_split_compiled(
    rows: CompressedRows, x: Tensor, weights: Tensor, partner: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """See :func:`unifilter.kernels.propagate.chebyshev_split`."""
    (nodes, columns), weights = x.shape, weights.detach().to(x.dtype)
    partners = None if partner is None else partner.detach().chunk(2, dim=1)
    result = torch.empty(nodes, 2 * columns, dtype=x.dtype)
    results = result.chunk(2, dim=1)
    inner = torch.zeros(weights.shape, dtype=x.dtype)
    root, inverse_root, structure = _scales_and_structure(rows, x.dtype)
    for begin, end, width in _groups(x):
        source = _columns(x.detach(), begin, end, width)
        # The sums are made where they belong in the result.
        totals = [_columns(one, begin, end, width) for one in results]
        current, previous = torch.empty(2, nodes, len(width), dtype=x.dtype)
        torch.mul(source, torch.from_numpy(inverse_root)[:, None], out=current)
        previous.zero_()
        here, before = current.numpy(), previous.numpy()
        terms = _filled(weights, len(width))
        sums: Any = np.zeros((2, weights.shape[1], math.ceil(nodes / _ROWS_PER_SUM), len(width)), here.dtype)
        paired: list[Any] = [None, None]
        for index in range(2):
            torch.mul(current, weights[index, 0], out=totals[index])
            if partners is not None:
                paired[index] = _columns(partners[index], begin, end, width).numpy()
                _sum_products(source.numpy(), paired[index], sums[index, 0])
        into = [total.numpy() for total in totals]
        shares = _shares_of_rows(structure[0], len(width))
        for k in range(1, weights.shape[1]):
            factor = here.dtype.type(-1 if k == 1 else -2)
            arguments = (
                *structure, factor, here, before, into[0], terms[0, k], paired[0], sums[0, k],
                into[1], terms[1, k], paired[1], sums[1, k], None, None, root, width,
            )  # fmt: skip
            for_each(partial(_hop_on_share, arguments), shares)
            here, before = before, here
        for total, one in zip(totals, results, strict=True):
            torch.mul(total[:, : end - begin], torch.from_numpy(root)[:, None], out=one[:, begin:end])
        inner += torch.from_numpy(sums[..., : end - begin].sum(axis=(2, 3)))
    return result, None if partner is None else inner


def _columns(signal: Tensor, begin: int, end: int, width: Width) -> Tensor:
    """Some columns as a kernel reads them: in place, or a copy with zeros where there are fewer than a vector has."""
    if end - begin == len(width) and signal.stride(1) == 1:
        return signal[:, begin:end]
    return torch.nn.functional.pad(signal[:, begin:end], (0, len(width) - (end - begin))).contiguous()


def _groups(x: Tensor) -> Iterator[tuple[int, int, Width]]:
    """Columns that go through all hops together: where they begin and end, and the width of their vectors."""
    begin = 0
    while begin < x.shape[1]:
        width = fitting_width(x.shape[1] - begin, x.element_size())
        end = min(begin + len(width), x.shape[1])
        yield begin, end, width
        begin = end


def _filled(weights: Tensor, columns: int) -> np.ndarray:
    """Weights ``[terms, K + 1]`` repeated for each column."""
    return weights[..., None].repeat(1, 1, columns).numpy()


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
    other_total, other_term, other_partner, other_sums, added, other_added, row_scale, width, begin, end,
):  # fmt: skip
    """On some rows: ``previous`` becomes ``following = factor P current - previous``, ``total`` grows by
    ``term * following`` and ``sums`` by ``partner * following``, and the same for the others.

    Where there is something to be ``added``, times ``term``, it is part of ``following``, and there is no total.
    Partners and what is added are signals as they are where ``row_scale`` says how to scale their rows; without it they
    have been scaled before.
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
            more = weight * load(added, (row, 0), width) + other_weight * load(other_added, (row, 0), width)
            following = following + more * splat(row_scale[row], width)
        store(previous, (row, 0), following)
        if total is not None:
            store(total, (row, 0), load(total, (row, 0), width) + weight * following)
        if other_total is not None:
            store(other_total, (row, 0), load(other_total, (row, 0), width) + other_weight * following)
        block = row // _ROWS_PER_SUM
        scaled = following
        if row_scale is not None:
            scaled = following * splat(row_scale[row], width)
        if partner is not None:
            product = load(partner, (row, 0), width) * scaled
            store(sums, (block, 0), load(sums, (block, 0), width) + product)
        if other_partner is not None:
            product = load(other_partner, (row, 0), width) * scaled
            store(other_sums, (block, 0), load(other_sums, (block, 0), width) + product)
