r"""Weighted sums of basis vectors with dropout: one pass forward and one backward, no copy of the basis.

A row of the result is :math:`z = m \sum_k w_k \, m_k \, b_k`, where the basis element :math:`b_k = \sum_i M_{ki} v_i`
is made from the Lanczos vectors in registers and the dropout masks :math:`m_k` of the elements and :math:`m` of the
result from a hash of their position. The backward pass makes all of it again, so nothing of the size of the basis is
ever stored or moved, and of the size of the result only the result. Where the sums go through a linear layer at once,
their slope is written where they were: two arrays of that size would be most of what training takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from unifilter.kernels.compiling import compile_inline, compile_kernel
from unifilter.kernels.random_bits import ALWAYS, make_mask, mixed_key
from unifilter.kernels.row_lanes import (
    ROW_BYTES,
    ROWS,
    add_rows,
    at_rows,
    keep_rows,
    load_for_rows,
    load_rows,
    prefetch_rows,
    rows_from,
    same,
    splat_rows,
    store_rows,
)
from unifilter.kernels.threads import for_each, parts_of

# Columns worked on together: their small matrices stay in the cache of one core while the rows go by.
_COLUMNS = 512
# Bytes of a cache line.
_LINE = 64


def combine_rows(
    vectors: Tensor,
    coefficients: Tensor | None,
    weights: Tensor,
    nodes: Tensor,
    dropout: float = 0.0,
    seed: int = 0,
    result_dropout: float = 0.0,
    result_seed: int = 0,
    linear: Tensor | None = None,
) -> Tensor:
    """``dropout(sum_k weights[k] * dropout(basis[k]))`` at some nodes, ``[len(nodes), d]``, or what a linear layer
    makes of it, ``[len(nodes), out]``; differentiable in ``weights`` and ``linear``.

    Args:
        vectors: Lanczos vectors ``[K+1, n, d]``.
        coefficients: The basis on them, ``[m, K+1, d]``; ``None`` where the vectors are the basis.
        weights: ``[m, d]``.
        nodes: Which rows, int64.
        dropout: Share of the basis elements that are dropped; the others grow so that the expectation stays.
        seed: The same seed drops the same elements.
        result_dropout: Share of the sums that are dropped.
        result_seed: The same seed drops the same sums.
        linear: Weight of the linear layer ``[out, d]``.
    """
    if coefficients is not None and dropout == 0:
        # Without a mask between them the two sums are one.
        weights, coefficients = (coefficients * weights[:, None]).sum(dim=0), None
    masks = dropout, seed, result_dropout, result_seed
    # The kernels know two precisions, and the slope in the weights alone.
    learned = vectors.requires_grad or (coefficients is not None and coefficients.requires_grad)
    suits = vectors.device.type == "cpu" and vectors.dtype in (torch.float32, torch.float64) and not learned
    if not suits or vectors.shape[2] < ROW_BYTES // vectors.element_size():
        combined = _combine_rows_torch(vectors, coefficients, weights, nodes, *masks)
        return combined if linear is None else functional.linear(combined, linear)
    return _CombineRows.apply(weights, linear, vectors, coefficients, nodes, *masks)  # type: ignore[no-any-return,no-untyped-call]


def _combine_rows_torch(
    vectors: Tensor,
    coefficients: Tensor | None,
    weights: Tensor,
    nodes: Tensor,
    dropout: float,
    seed: int,
    result_dropout: float,
    result_seed: int,
) -> Tensor:
    rows = vectors[:, nodes]
    basis = rows if coefficients is None else torch.einsum("kid,ind->knd", coefficients.to(rows), rows)
    combined = torch.einsum("kd,knd->nd", weights.to(basis), _drop_torch(basis, dropout, seed))
    return _drop_torch(combined, result_dropout, result_seed)


def _drop_torch(x: Tensor, p: float, seed: int) -> Tensor:
    if p == 0:
        return x
    generator = torch.Generator(x.device).manual_seed(seed)
    return x * (torch.rand(x.shape, generator=generator, device=x.device) >= p) / (1 - p)


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
        slope, of_linear = grad.contiguous(), None
        if linear is not None:
            # A second backward pass finds the slope of the first where the sums were, so it makes them again.
            channels = linear.shape[1]
            width = _whole_lines(channels, linear.element_size())
            slope = _sums(width, weights, *ctx.inputs) if ctx.space is None else ctx.space
            ctx.space = None
            combined = slope[:, :channels]
            grad = grad.to(combined)  # under autocast the layer computes in half precision
            of_linear = grad.T @ combined
            torch.mm(grad, linear, out=combined)
        of_weights = _slope_in_weights(slope, weights, *ctx.inputs)
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

    for_each(forward_part, parts_of(len(rows)), len(rows) * weight.size)
    return combined


def _slope_in_weights(
    slope_in_sums: Tensor,
    weights: Tensor,
    source: np.ndarray,
    matrix: np.ndarray,
    terms: np.ndarray,
    rows: np.ndarray,
    masks: tuple[Any, Any],
) -> Tensor:
    slope = slope_in_sums.numpy()
    parts = parts_of(len(rows))
    # One sum for each part, then all of them in order: the result does not depend on the number of threads.
    sums = np.zeros((len(parts), *weights.shape), source.dtype)

    def backward_part(index: int) -> None:
        part = parts[index]
        _backward(source, matrix, terms, rows[part], part.start, *masks, slope[part], sums[index])

    for_each(backward_part, range(len(parts)), len(rows) * weights.numel())
    return torch.from_numpy(sums.sum(axis=0)).to(weights)


def _as_matrix(coefficients: Tensor | None, like: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The coefficients, and how many of each basis vector's are not zero throughout; both empty where it is none."""
    if coefficients is None:
        return np.zeros((0, 0, like.shape[2]), like.dtype), np.zeros(0, np.int64)
    matrix = coefficients.detach().numpy().astype(like.dtype, order="C", copy=False)
    return matrix, np.array([int(np.flatnonzero(row.any(axis=1)).max(initial=-1)) + 1 for row in matrix])


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
    lanes = ROW_BYTES // vectors.itemsize
    direct = len(terms) == 0
    zero, scale, result_scale = vectors.dtype.type(0), of_basis.scale, of_result.scale
    keys = np.empty((count, ROWS), np.uint64)
    for begin in range(0, channels, _COLUMNS):
        for first in range(0, len(nodes), ROWS):
            rows = rows_from(first, len(nodes))
            here, next_nodes = at_rows(nodes, rows), at_rows(nodes, rows_from(first + ROWS, len(nodes)))
            result_keys = _row_keys(of_result.key, first_row, rows, 0)
            for k in range(count):
                keys[k, 0], keys[k, 1], keys[k, 2], keys[k, 3] = _row_keys(of_basis.key, first_row, rows, k)
            for start in range(begin, min(begin + _COLUMNS, channels), lanes):
                # The last columns overlap those before: whatever is written twice is the same.
                column = min(start, channels - lanes)
                total = splat_rows(same(zero))
                for k in range(count):
                    # Rows come in any order, so the processor cannot know which are next.
                    prefetch_rows(vectors, (k,), next_nodes, column)
                    element = splat_rows(same(zero))
                    if direct:
                        element = load_rows(vectors, (k,), here, column)
                    else:
                        for i in range(terms[k]):
                            vector = load_rows(vectors, (i,), here, column)
                            element = element + load_for_rows(matrix, (k, i, column)) * vector
                    if of_basis.threshold < ALWAYS:
                        of_k = keys[k, 0], keys[k, 1], keys[k, 2], keys[k, 3]
                        element = keep_rows(element, of_k, column, of_basis.threshold)
                    total = total + element * load_for_rows(weights, (k, column))
                total = total * splat_rows(same(scale))
                if of_result.threshold < ALWAYS:
                    total = keep_rows(total, result_keys, column, of_result.threshold)
                    total = total * splat_rows(same(result_scale))
                store_rows(result, (), rows, column, total)


@compile_kernel
def _backward(vectors, matrix, terms, nodes, first_row, of_basis, of_result, slope, sums):  # type: ignore[no-untyped-def]
    count, channels = sums.shape
    lanes = ROW_BYTES // vectors.itemsize
    direct = len(terms) == 0
    zero, scale, result_scale = vectors.dtype.type(0), of_basis.scale, of_result.scale
    keys = np.empty((count, ROWS), np.uint64)
    whole = channels // lanes * lanes
    # The last columns overlap those before, so their sums are kept apart.
    tail = np.zeros((count, lanes), vectors.dtype)
    for begin in range(0, channels, _COLUMNS):
        for first in range(0, len(nodes), ROWS):
            rows = rows_from(first, len(nodes))
            here, next_nodes = at_rows(nodes, rows), at_rows(nodes, rows_from(first + ROWS, len(nodes)))
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
            for start in range(begin, min(begin + _COLUMNS, channels), lanes):
                column = min(start, channels - lanes)
                scaled = load_rows(slope, (), rows, column)
                if of_result.threshold < ALWAYS:
                    scaled = keep_rows(scaled, result_keys, column, of_result.threshold)
                    scaled = scaled * splat_rows(same(result_scale))
                scaled = scaled * splat_rows(scales)
                for k in range(count):
                    prefetch_rows(vectors, (k,), next_nodes, column)
                    element = splat_rows(same(zero))
                    if direct:
                        element = load_rows(vectors, (k,), here, column)
                    else:
                        for i in range(terms[k]):
                            vector = load_rows(vectors, (i,), here, column)
                            element = element + load_for_rows(matrix, (k, i, column)) * vector
                    if of_basis.threshold < ALWAYS:
                        of_k = keys[k, 0], keys[k, 1], keys[k, 2], keys[k, 3]
                        element = keep_rows(element, of_k, column, of_basis.threshold)
                    if start < whole:
                        add_rows(sums, (k, column), element, scaled)
                    else:
                        add_rows(tail, (k, 0), element, scaled)
    for column in range(whole, channels):
        for k in range(count):
            sums[k, column] = tail[k, lanes - channels + column]
