"""The Lanczos factorization on the CPU: all hops of a block of columns while the block is in cache.

Columns are independent, so a block of them goes through all hops alone, one thread per block. Inside a block a signal
``v`` is kept as ``v / sqrt(degree)``: a row of the sparse product is then a plain sum over neighbors, no value of the
propagation matrix is ever stored. A vector is normalized by folding its ``1 / beta`` into the next product, and is
written to the result once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unifilter.kernels.compiled.compiling import compile_inline, compile_kernel
from unifilter.kernels.compiled.lanes import (
    BYTES,
    NEIGHBORS_AHEAD,
    Width,
    load,
    prefetch_for_reading,
    prefetch_for_writing,
    splat,
    store,
)
from unifilter.kernels.compiled.orthogonality import ALWAYS, NEVER, ROWS_PER_SUM, WHERE_NEEDED, keep_orthogonal
from unifilter.kernels.compressed_rows import CompressedRows
from unifilter.kernels.lanczos import NOISE_FLOOR, Parts
from unifilter.kernels.threads import for_each

# Wide enough for long contiguous writes, narrow enough that two vectors of a few thousand nodes stay in cache.
_BLOCK_BYTES = 512
_PAGE = 4096
# A block larger than this is not in a core's own cache: neighbors are then requested ahead.
_NEAR_BYTES = 4 << 20
# How many rows ahead the result's cache lines are requested.
_ROWS_AHEAD = 8


def lanczos_compiled(
    rows: CompressedRows,
    x: Tensor,
    hops: int,
    reorthogonalize: bool | None,
    columns_per_block: int | None,
    signals: int | None = None,
) -> Parts:
    """See :func:`unifilter.kernels.lanczos.lanczos`."""
    nodes, channels = x.shape
    # numpy asks the kernel for huge pages and torch does not: filling fresh memory is then several times faster.
    dtype = torch.empty(0, dtype=x.dtype).numpy().dtype
    vectors = np.empty((hops + 1, nodes, channels), dtype)
    alpha, beta = np.zeros((hops + 1, channels), dtype), np.zeros((hops, channels), dtype)
    norm, dimension = np.zeros(channels, dtype), np.zeros(channels, np.int64)

    threads = torch.get_num_threads()
    vector = _vector_width(signals or channels, dtype.itemsize)
    lanes = len(vector)
    # Whole vectors of columns, always the same ones: so the width of a block cannot change the result.
    width = columns_per_block or _default_width(channels, dtype.itemsize, threads)
    width = math.ceil(width / lanes) * lanes
    starts = range(0, channels, width)
    padded = math.ceil(min(width, channels) / lanes) * lanes
    threads = min(threads, len(starts))
    free_scratch = list(_aligned_empty((threads, 2, nodes, padded), dtype))

    structure = _structure(rows, x.dtype)
    fill = _filler(x)
    mode = {False: NEVER, None: WHERE_NEEDED, True: ALWAYS}[reorthogonalize]

    def factorize_block(start: int) -> None:
        columns = slice(start, min(start + width, channels))
        current, previous = free_scratch.pop()
        fill(columns.start, columns.stop, current)
        _lanczos_block(
            *structure,
            current,
            previous,
            mode,
            vector,
            vectors[:, :, columns],
            alpha[:, columns],
            beta[:, columns],
            norm[columns],
            dimension[columns],
        )
        free_scratch.append((current, previous))

    for_each(factorize_block, starts)
    return tuple(torch.from_numpy(part) for part in (vectors, alpha, beta, norm, dimension))  # type: ignore[return-value]


def _vector_width(signals: int, itemsize: int) -> Width:
    """Width of a vector of columns. It depends on the signals alone, and so do the results.

    Few columns are divided into two vectors, for two threads; for many, longer vectors are faster.
    """
    return (0,) * ((BYTES if signals * itemsize > BYTES else BYTES // 2) // itemsize)


def _default_width(channels: int, itemsize: int, threads: int) -> int:
    """Wide blocks, as many for every thread, whose work space stays below that of one signal."""
    widest = min(_BLOCK_BYTES // itemsize, max(1, channels // (2 * threads)))
    blocks = threads * math.ceil(channels / (threads * widest))
    return math.ceil(channels / blocks)


def _aligned_empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Memory that starts on a page: a vector of columns is then whole cache lines."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + _PAGE, np.uint8)
    start = -memory.ctypes.data % _PAGE
    return memory[start : start + size].view(dtype).reshape(shape)


def _structure(rows: CompressedRows, dtype: torch.dtype) -> tuple[Any, ...]:
    root_degree = rows.root_degree
    return (
        rows.row_start.numpy(),
        rows.neighbors.numpy(),
        None if rows.weights is None else rows.weights.to(dtype).numpy(),
        root_degree.to(dtype).numpy(),
        (root_degree**2).to(dtype).numpy(),
        (root_degree**-2).to(dtype).numpy(),
    )


def _filler(x: Tensor) -> Any:
    """A function that writes columns ``start`` to ``stop`` of the features into a block, zero beyond them."""
    if x.layout == torch.strided:
        dense = x.contiguous().numpy()
        return lambda start, stop, block: _fill_dense(dense, start, stop, block)
    starts, rows, values = x.ccol_indices().numpy(), x.row_indices().numpy(), x.values().numpy()
    return lambda start, stop, block: _fill_sparse(starts, rows, values, start, stop, block)


@compile_kernel
def _fill_dense(x, start, stop, block):  # type: ignore[no-untyped-def]
    for row in range(x.shape[0]):
        block[row, : stop - start] = x[row, start:stop]
        # Columns that do not exist go through the motions; zeros are quick, leftovers of another block may not be.
        block[row, stop - start :] = 0


@compile_kernel
def _fill_sparse(column_start, rows, values, start, stop, block):  # type: ignore[no-untyped-def]
    block[:, :] = 0
    for column in range(start, stop):
        for entry in range(column_start[column], column_start[column + 1]):
            # A sparse tensor that was not coalesced may name an entry twice: it means their sum.
            block[rows[entry], column - start] += values[entry]


@compile_kernel
def _lanczos_block(  # type: ignore[no-untyped-def]
    row_start, neighbors, weights, root_degree, degree, inverse_degree,
    current, previous, mode, vector, vectors, alpha, beta, norm, dimension,
):  # fmt: skip
    hops, columns, padded, lanes = beta.shape[0], beta.shape[1], current.shape[1], len(vector)
    roots = (root_degree, root_degree * inverse_degree, degree)
    epsilon = np.finfo(current.dtype).eps
    # A rest below this share of the vector before orthogonalization has lost half its digits to cancellation: it is
    # noise, and the space is exhausted. (At ten hops on Cora and Citeseer true rests stay above 1e-2, noise below
    # 1e-3.)
    breakdown = 4 * np.sqrt(epsilon)
    # `current` holds v_k / sqrt(degree) before its normalization: times `scale` it is v_k / sqrt(degree).
    # `previous` likewise holds v_{k-1}: times `carry` it is beta_{k-1} v_{k-1} / sqrt(degree).
    scale, carry, shift = np.zeros((3, padded), current.dtype)
    kept, direction = np.zeros((3, hops + 2, padded)), np.zeros((hops + 1, padded))
    noise, propagated = np.full(padded // lanes, np.float64(epsilon)), np.zeros(padded)

    length, exponent = _lengths(current)
    for column in range(columns):
        norm[column] = math.ldexp(length[column], exponent[column])
        if length[column] > 0:
            dimension[column] = 1
            scale[column] = 1
    _normalize(current, length, root_degree)
    previous[:, :] = 0

    for hop in range(hops + 1):
        projection = _product_pass(
            row_start, neighbors, weights, degree, inverse_degree, current, previous, scale, carry, columns, vector
        )
        for column in range(columns):
            alpha[hop, column] = projection[column] * scale[column]
            shift[column] = alpha[hop, column] * scale[column]
        residual = _update_pass(current, previous, scale, shift, degree, root_degree, vectors[hop], columns, vector)
        if hop == hops:
            break
        for column in range(columns):
            # Pythagoras: the three parts of P v_k are orthogonal.
            propagated[column] = residual[column] + np.float64(alpha[hop, column]) ** 2
            if hop > 0:
                propagated[column] += np.float64(beta[hop - 1, column]) ** 2
        if mode != NEVER:
            for first in range(0, columns, lanes):
                last = min(columns, first + lanes)
                keep_orthogonal(
                    mode, hop, vectors, current, scale, previous, roots, alpha, beta, dimension, residual, kept,
                    noise, direction, first, last, vector,
                )  # fmt: skip
        for column in range(columns):
            rest = np.sqrt(residual[column])
            carry[column] = 0
            told_apart = rest > breakdown * np.sqrt(propagated[column]) and rest > NOISE_FLOOR * epsilon
            if dimension[column] == hop + 1 and told_apart:
                dimension[column] = hop + 2
                beta[hop, column] = rest
                carry[column] = rest * scale[column]
                scale[column] = 1 / rest
            else:
                scale[column] = 0
        current, previous = previous, current


@compile_kernel
def _lengths(block):  # type: ignore[no-untyped-def]
    """Length of each column, to be multiplied by 2 to the power of the exponents; by these columns are divided here.

    That is done where squares would over- or underflow.
    """
    exponent = np.zeros(block.shape[1], np.int64)
    total = _squared_norms(block)
    extreme = False
    for column in range(block.shape[1]):
        if not 1e-280 < total[column] < 1e280:
            exponent[column] = math.frexp(np.float64(np.abs(block[:, column]).max()))[1]
            extreme |= exponent[column] != 0
    if extreme:
        for row in range(block.shape[0]):
            for column in range(block.shape[1]):
                if exponent[column] != 0:
                    block[row, column] = math.ldexp(np.float64(block[row, column]), -exponent[column])
        total = _squared_norms(block)
    return np.sqrt(total), exponent


@compile_kernel
def _squared_norms(block):  # type: ignore[no-untyped-def]
    total = np.zeros(block.shape[1])
    for row in range(block.shape[0]):
        for column in range(block.shape[1]):
            total[column] += np.float64(block[row, column]) ** 2
    return total


@compile_kernel
def _normalize(block, length, root_degree):  # type: ignore[no-untyped-def]
    for row in range(block.shape[0]):
        for column in range(block.shape[1]):
            if length[column] > 0:
                block[row, column] /= length[column] * root_degree[row]


@compile_inline
def _neighbor_sum(row_start, neighbors, weights, block, row, column, far, zero):  # type: ignore[no-untyped-def]
    # The same loop is written out for short rows in `chebyshev._hop`, where the call, inlined or not, costs more than a
    # row: it counts references to the arrays.
    # Two sums side by side: additions overlap instead of waiting for each other.
    even = odd = zero
    entry, stop = row_start[row], row_start[row + 1]
    if weights is None:
        while entry + 2 <= stop:
            if far and entry + NEIGHBORS_AHEAD + 1 < len(neighbors):
                for ahead in range(entry + NEIGHBORS_AHEAD, entry + NEIGHBORS_AHEAD + 2):
                    # The first and the last number: they lie on two cache lines at most.
                    prefetch_for_reading(block, (neighbors[ahead], column))
                    prefetch_for_reading(block, (neighbors[ahead], column + len(zero) - 1))
            even = even + load(block, (neighbors[entry], column), zero)
            odd = odd + load(block, (neighbors[entry + 1], column), zero)
            entry += 2
        if entry < stop:
            even = even + load(block, (neighbors[entry], column), zero)
    else:
        while entry < stop:
            even = even + splat(weights[entry], zero) * load(block, (neighbors[entry], column), zero)
            entry += 1
    return even + odd


@compile_kernel
def _product_pass(  # type: ignore[no-untyped-def]
    row_start, neighbors, weights, degree, inverse_degree, current, previous, scale, carry, columns, vector
):
    """``previous`` becomes P v_k - beta v_{k-1}; returns its product with ``current``."""
    nodes = current.shape[0]
    lanes = len(vector)
    padded = -(-columns // lanes) * lanes
    projection = np.zeros(current.shape[1])
    far = current.size * current.itemsize > _NEAR_BYTES
    partial = np.zeros((1, padded), current.dtype)
    zero = splat(current.dtype.type(0), vector)
    for first in range(0, nodes, ROWS_PER_SUM):
        partial[:, :] = 0
        for row in range(first, min(nodes, first + ROWS_PER_SUM)):
            row_degree, row_inverse = splat(degree[row], vector), splat(inverse_degree[row], vector)
            for column in range(0, padded, lanes):
                total = _neighbor_sum(row_start, neighbors, weights, current, row, column, far, zero)
                product = total * load(scale, (column,), vector) * row_inverse
                rest = product - load(carry, (column,), vector) * load(previous, (row, column), vector)
                store(previous, (row, column), rest)
                projected = rest * load(current, (row, column), vector) * row_degree
                store(partial, (0, column), load(partial, (0, column), vector) + projected)
        for column in range(padded):
            projection[column] += partial[0, column]
    return projection


@compile_kernel
def _update_pass(  # type: ignore[no-untyped-def]
    current, previous, scale, shift, degree, root_degree, result, columns, vector
):
    """Writes v_k to ``result``, takes it out of ``previous`` and returns the squared norm of what remains."""
    nodes = current.shape[0]
    lanes = len(vector)
    padded = -(-columns // lanes) * lanes
    whole = columns // lanes * lanes
    squared = np.zeros(current.shape[1])
    partial = np.zeros((1, padded), current.dtype)
    tail = np.zeros((1, lanes), current.dtype)
    for first in range(0, nodes, ROWS_PER_SUM):
        partial[:, :] = 0
        for row in range(first, min(nodes, first + ROWS_PER_SUM)):
            row_degree, row_root = splat(degree[row], vector), splat(root_degree[row], vector)
            if row + _ROWS_AHEAD < nodes:
                for column in range(0, columns, lanes // 2):
                    prefetch_for_writing(result, (row + _ROWS_AHEAD, column))
            for column in range(0, padded, lanes):
                here = load(current, (row, column), vector)
                value = here * load(scale, (column,), vector) * row_root
                if column < whole:
                    store(result, (row, column), value)
                else:
                    store(tail, (0, 0), value)
                rest = load(previous, (row, column), vector) - load(shift, (column,), vector) * here
                store(previous, (row, column), rest)
                store(partial, (0, column), load(partial, (0, column), vector) + rest * rest * row_degree)
            for column in range(whole, columns):
                result[row, column] = tail[0, column - whole]
        for column in range(padded):
            squared[column] += partial[0, column]
    return squared
