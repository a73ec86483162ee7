r"""Weighted sums of basis vectors with dropout: one pass forward and one backward, no copy of the basis.

A row of the result is :math:`z = m \sum_k w_k \, m_k \, b_k`, where the basis element :math:`b_k = \sum_i M_{ki} v_i`
is made from the Lanczos vectors in registers and the dropout masks :math:`m_k` of the elements and :math:`m` of the
result from a hash of their position. The backward pass makes all of it again, so nothing of the size of the basis is
ever stored or moved, and of the size of the result only the result. Where the sums go through a linear layer at once,
their gradient is written where they were: two arrays of that size would be most of what training takes.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from unifilter.kernels.compiled.compiling import compile_inline, compile_kernel
from unifilter.kernels.compiled.lanes import add_products, keep, load, prefetch_for_reading, splat, store
from unifilter.kernels.compiled.random_bits import ALWAYS, make_mask, mixed_key
from unifilter.kernels.threads import equal_parts, for_each, parts_of

# Rows worked on together, a cache line of each: they are half of the vector registers of most processors. With more the
# sums would not stay in registers, with less the small matrices are loaded more often.
_ROWS = 4
_LINE = 64
# Columns worked on together: their small matrices stay in the cache of one core while the rows go by.
_COLUMNS = 512
# Number of groups in sums over rows. It is fixed, so that the number of threads cannot change a result.
_GROUPS = 8


def combine_rows_compiled(
    weights: Tensor, linear: Tensor | None, vectors: Tensor, coefficients: Tensor | None, nodes: Tensor, *masks: Any
) -> Tensor:
    """See :func:`unifilter.kernels.combine_rows.combine_rows`; rows have at least a cache line."""
    return _CombineRows.apply(weights, linear, vectors, coefficients, nodes, *masks)  # type: ignore[no-any-return,no-untyped-call]


class _CombineRows(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        weights: Tensor,
        linear: Tensor | None,
        vectors: Tensor,
        coefficients: Tensor | None,
        nodes: Tensor,
        dropout: float,
        seed: int,
        result_dropout: float,
        result_seed: int,
    ) -> Tensor:
        # The kernels read along the channels.
        source = (vectors if vectors.stride(2) == 1 else vectors.contiguous()).detach().numpy()
        masks = make_mask(dropout, seed, source.dtype), make_mask(result_dropout, result_seed, source.dtype)
        ctx.inputs = source, *_as_matrix(coefficients, source), nodes.numpy(), masks
        ctx.save_for_backward(weights, linear)
        channels = source.shape[2]
        if linear is None:
            return _sums(channels, weights, *ctx.inputs)
        ctx.space = _sums(_whole_lines(channels, source.itemsize), weights, *ctx.inputs)
        return functional.linear(ctx.space[:, :channels], linear)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        weights, linear = ctx.saved_tensors
        gradient, of_linear = grad.contiguous(), None
        if linear is not None:
            # A second backward pass finds the gradient of the first where the sums were, so it makes them again.
            channels = linear.shape[1]
            width = _whole_lines(channels, linear.element_size())
            gradient = _sums(width, weights, *ctx.inputs) if ctx.space is None else ctx.space
            ctx.space = None
            combined = gradient[:, :channels]
            grad = grad.to(combined)  # under autocast the layer computes in half precision
            of_linear = grad.T @ combined
            torch.mm(grad, linear, out=combined)
        of_weights = _gradient_in_weights(gradient, weights, *ctx.inputs)
        return of_weights, of_linear, None, None, None, None, None, None, None


def _whole_lines(channels: int, itemsize: int) -> int:
    """The length of rows that all start on a cache line: a product that writes others takes half as long again."""
    numbers = _LINE // itemsize
    return -(-channels // numbers) * numbers


def _sums(
    width: int,
    weights: Tensor,
    source: np.ndarray,
    matrix: np.ndarray,
    terms: np.ndarray,
    rows: np.ndarray,
    masks: tuple[Any, Any],
) -> Tensor:
    """The sums in the first columns of rows of a given length; what stands behind them means nothing."""
    # torch's memory starts on a cache line, numpy's anywhere: a matrix product may round differently by that.
    combined = torch.empty(len(rows), width, dtype=torch.from_numpy(source).dtype)
    weight = weights.detach().to(combined.dtype).contiguous().numpy()
    result = combined.numpy()

    def forward_part(part: slice) -> None:
        _forward(source, matrix, terms, rows[part], part.start, *masks, weight, result[part])

    numbers = len(rows) * weight.size
    for_each(forward_part, parts_of(len(rows), numbers), numbers)
    return combined


def _gradient_in_weights(
    gradient_in_sums: Tensor,
    weights: Tensor,
    source: np.ndarray,
    matrix: np.ndarray,
    terms: np.ndarray,
    rows: np.ndarray,
    masks: tuple[Any, Any],
) -> Tensor:
    gradient, channels = gradient_in_sums.numpy(), weights.shape[1]
    groups = equal_parts(len(rows), _GROUPS)
    sums = np.zeros((len(groups), *weights.shape), source.dtype)
    # Columns are independent: more threads than there are groups share the columns of each.
    lanes = _LINE // source.itemsize
    shares = [
        (part.start * lanes, min(part.stop * lanes, channels))
        for part in equal_parts(-(-channels // lanes), -(-torch.get_num_threads() // _GROUPS))
    ]

    def backward_part(part: tuple[int, tuple[int, int]]) -> None:
        index, columns = part
        group = groups[index]
        _backward(source, matrix, terms, rows[group], group.start, *masks, gradient[group], *columns, sums[index])

    for_each(backward_part, product(range(len(groups)), shares), len(rows) * weights.numel())
    return torch.from_numpy(sums.sum(axis=0)).to(weights)


def _as_matrix(coefficients: Tensor | None, like: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The coefficients, and how many of each basis vector's are not zero throughout; both empty where it is none."""
    if coefficients is None:
        return np.zeros((0, 0, like.shape[2]), like.dtype), np.zeros(0, np.int64)
    matrix = coefficients.detach().numpy().astype(like.dtype, order="C", copy=False)
    return matrix, np.array([int(np.flatnonzero(row.any(axis=1)).max(initial=-1)) + 1 for row in matrix])


@compile_inline
def _rows_from(first, count):  # type: ignore[no-untyped-def]
    """The rows from ``first`` on; past the last of ``count`` it is the last again."""
    last = count - 1
    return min(first, last), min(first + 1, last), min(first + 2, last), min(first + 3, last)


@compile_inline
def _at_rows(array, rows):  # type: ignore[no-untyped-def]
    return array[rows[0]], array[rows[1]], array[rows[2]], array[rows[3]]


@compile_inline
def _for_rows(number):  # type: ignore[no-untyped-def]
    """The number in every lane of every row."""
    return splat((number, number, number, number), _LINE)


@compile_inline
def _row_keys(key, first_row, rows, k):  # type: ignore[no-untyped-def]
    return (
        mixed_key(key, first_row + rows[0], k),
        mixed_key(key, first_row + rows[1], k),
        mixed_key(key, first_row + rows[2], k),
        mixed_key(key, first_row + rows[3], k),
    )


# What makes an element of the basis is written out in both kernels: as a function of its own, inlined by numba or by
# LLVM, it made them take twice as long.
@compile_kernel
def _forward(vectors, matrix, terms, nodes, first_row, of_basis, of_result, weights, result):  # type: ignore[no-untyped-def]
    count, channels = weights.shape
    lanes = _LINE // vectors.itemsize
    direct = len(terms) == 0
    zero, scale, result_scale = vectors.dtype.type(0), of_basis.scale, of_result.scale
    keys = np.empty((count, _ROWS), np.uint64)
    for begin in range(0, channels, _COLUMNS):
        for first in range(0, len(nodes), _ROWS):
            rows = _rows_from(first, len(nodes))
            here, next_nodes = _at_rows(nodes, rows), _at_rows(nodes, _rows_from(first + _ROWS, len(nodes)))
            result_keys = _row_keys(of_result.key, first_row, rows, 0)
            for k in range(count):
                keys[k, 0], keys[k, 1], keys[k, 2], keys[k, 3] = _row_keys(of_basis.key, first_row, rows, k)
            for start in range(begin, min(begin + _COLUMNS, channels), lanes):
                # The last columns overlap those before: whatever is written twice is the same.
                column = min(start, channels - lanes)
                total = _for_rows(zero)
                for k in range(count):
                    # Rows come in any order, so the processor cannot know which are next.
                    prefetch_for_reading(vectors, (k, next_nodes, column))
                    element = _for_rows(zero)
                    if direct:
                        element = load(vectors, (k, here, column), _LINE)
                    else:
                        for i in range(terms[k]):
                            vector = load(vectors, (i, here, column), _LINE)
                            element = element + load(matrix, (k, i, column), _LINE) * vector
                    if of_basis.threshold < ALWAYS:
                        of_k = keys[k, 0], keys[k, 1], keys[k, 2], keys[k, 3]
                        element = keep(element, of_k, column, of_basis.threshold)
                    total = total + element * load(weights, (k, column), _LINE)
                total = total * splat(scale, _LINE)
                if of_result.threshold < ALWAYS:
                    total = keep(total, result_keys, column, of_result.threshold)
                    total = total * splat(result_scale, _LINE)
                store(result, (rows, column), total)


@compile_kernel
def _backward(vectors, matrix, terms, nodes, first_row, of_basis, of_result, gradient, first_column, last_column, sums):  # type: ignore[no-untyped-def]
    count, channels = sums.shape
    lanes = _LINE // vectors.itemsize
    direct = len(terms) == 0
    zero, scale, result_scale = vectors.dtype.type(0), of_basis.scale, of_result.scale
    keys = np.empty((count, _ROWS), np.uint64)
    whole = channels // lanes * lanes
    # The last columns overlap those before, so their sums are kept apart.
    tail = np.zeros((count, lanes), vectors.dtype)
    for begin in range(first_column, last_column, _COLUMNS):
        for first in range(0, len(nodes), _ROWS):
            rows = _rows_from(first, len(nodes))
            here, next_nodes = _at_rows(nodes, rows), _at_rows(nodes, _rows_from(first + _ROWS, len(nodes)))
            # A row that stands for one past the last must not count again.
            scales = (
                scale,
                scale if rows[1] > rows[0] else zero,
                scale if rows[2] > rows[1] else zero,
                scale if rows[3] > rows[2] else zero,
            )
            result_keys = _row_keys(of_result.key, first_row, rows, 0)
            for k in range(count):
                keys[k, 0], keys[k, 1], keys[k, 2], keys[k, 3] = _row_keys(of_basis.key, first_row, rows, k)
            for start in range(begin, min(begin + _COLUMNS, last_column), lanes):
                column = min(start, channels - lanes)
                scaled = load(gradient, (rows, column), _LINE)
                if of_result.threshold < ALWAYS:
                    scaled = keep(scaled, result_keys, column, of_result.threshold)
                    scaled = scaled * splat(result_scale, _LINE)
                scaled = scaled * splat(scales, _LINE)
                for k in range(count):
                    prefetch_for_reading(vectors, (k, next_nodes, column))
                    element = _for_rows(zero)
                    if direct:
                        element = load(vectors, (k, here, column), _LINE)
                    else:
                        for i in range(terms[k]):
                            vector = load(vectors, (i, here, column), _LINE)
                            element = element + load(matrix, (k, i, column), _LINE) * vector
                    if of_basis.threshold < ALWAYS:
                        of_k = keys[k, 0], keys[k, 1], keys[k, 2], keys[k, 3]
                        element = keep(element, of_k, column, of_basis.threshold)
                    if start < whole:
                        add_products(sums, (k, column), element, scaled)
                    else:
                        add_products(tail, (k, 0), element, scaled)
    for column in range(whole, last_column):
        for k in range(count):
            sums[k, column] = tail[k, lanes - channels + column]
