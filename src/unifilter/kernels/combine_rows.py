r"""Weighted sums of basis vectors with dropout: one pass forward and one backward, no copy of the basis.

A row of the result is :math:`z = \sum_k w_k \, m_k \, b_k`, where the basis element :math:`b_k = \sum_i M_{ki} v_i`
is made from the Lanczos vectors in registers and the dropout mask :math:`m_k` from a hash of its position. The
backward pass makes both again, so nothing of the size of the basis is ever stored or moved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from unifilter.kernels.compiling import compile_kernel
from unifilter.kernels.lanes import BYTES, keep, load, splat, store
from unifilter.kernels.random_bits import ALWAYS, drop_threshold, mixed_key
from unifilter.kernels.threads import for_each, parts_of

# Columns worked on together: their small matrices stay in the cache of one core while the rows go by.
_COLUMNS = 512


def combine_rows(
    vectors: Tensor,
    coefficients: Tensor | None,
    weights: Tensor,
    nodes: Tensor,
    dropout: float = 0.0,
    seed: int = 0,
) -> Tensor:
    """``sum_k weights[k] * dropout(basis[k])`` at some nodes, ``[len(nodes), d]``; differentiable in ``weights``.

    Args:
        vectors: Lanczos vectors ``[K+1, n, d]``.
        coefficients: The basis on them, ``[m, K+1, d]``; ``None`` where the vectors are the basis.
        weights: ``[m, d]``.
        nodes: Which rows, int64.
        dropout: Share of the basis elements that are dropped; the others grow so that the expectation stays.
        seed: The same seed drops the same elements.
    """
    if coefficients is not None and dropout == 0:
        # Without a mask between them the two sums are one.
        weights, coefficients = (coefficients * weights[:, None]).sum(dim=0), None
    # The kernels know two precisions, and the slope in the weights alone.
    learned = vectors.requires_grad or (coefficients is not None and coefficients.requires_grad)
    suits = vectors.device.type == "cpu" and vectors.dtype in (torch.float32, torch.float64) and not learned
    if not suits or vectors.shape[2] < BYTES // vectors.element_size():
        return _combine_rows_torch(vectors, coefficients, weights, nodes, dropout, seed)
    return _CombineRows.apply(weights, vectors, coefficients, nodes, dropout, seed)  # type: ignore[no-any-return,no-untyped-call]


def _combine_rows_torch(
    vectors: Tensor, coefficients: Tensor | None, weights: Tensor, nodes: Tensor, dropout: float, seed: int
) -> Tensor:
    rows = vectors[:, nodes]
    basis = rows if coefficients is None else torch.einsum("kid,ind->knd", coefficients.to(rows), rows)
    if dropout > 0:
        generator = torch.Generator(basis.device).manual_seed(seed)
        mask = torch.rand(basis.shape, generator=generator, device=basis.device) >= dropout
        basis = basis * mask / (1 - dropout)
    return torch.einsum("kd,knd->nd", weights.to(basis), basis)


class _CombineRows(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        weights: Tensor,
        vectors: Tensor,
        coefficients: Tensor | None,
        nodes: Tensor,
        dropout: float,
        seed: int,
    ) -> Tensor:
        ctx.inputs = _as_arrays(vectors, coefficients, weights, nodes, dropout, seed)
        ctx.like = weights
        source, matrix, terms, weight, rows, threshold, scale, key = ctx.inputs
        # torch's memory starts on a cache line, numpy's anywhere: a matrix product may round differently by that.
        combined = torch.empty(len(rows), source.shape[2], dtype=vectors.dtype)
        result = combined.numpy()

        def forward_part(part: slice) -> None:
            _forward(source, matrix, terms, weight, rows[part], part.start, threshold, scale, key, result[part])

        for_each(forward_part, parts_of(len(rows)), len(rows) * weight.size)
        return combined

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        source, matrix, terms, weight, rows, threshold, scale, key = ctx.inputs
        slope = grad.detach().to(torch.from_numpy(weight).dtype).contiguous().numpy()
        parts = parts_of(len(rows))
        # One sum for each part, then all of them in order: the result does not depend on the number of threads.
        sums = np.zeros((len(parts), *weight.shape), source.dtype)

        def backward_part(index: int) -> None:
            part = parts[index]
            _backward(source, matrix, terms, slope[part], rows[part], part.start, threshold, scale, key, sums[index])

        for_each(backward_part, range(len(parts)), len(rows) * weight.size)
        return torch.from_numpy(sums.sum(axis=0)).to(ctx.like), None, None, None, None, None


def _as_arrays(
    vectors: Tensor, coefficients: Tensor | None, weights: Tensor, nodes: Tensor, dropout: float, seed: int
) -> tuple[Any, ...]:
    # The kernels read along the channels.
    source = (vectors if vectors.stride(2) == 1 else vectors.contiguous()).detach().numpy()
    if coefficients is None:
        matrix, terms = np.zeros((0, 0, weights.shape[1]), source.dtype), np.zeros(0, np.int64)
    else:
        matrix = coefficients.detach().to(vectors.dtype).contiguous().numpy()
        terms = np.array([int(np.flatnonzero(row.any(axis=1)).max(initial=-1)) + 1 for row in matrix])
    scale = source.dtype.type(1 / (1 - dropout))
    weight = weights.detach().to(vectors.dtype).contiguous().numpy()
    key = np.uint64(seed)
    return source, matrix, terms, weight, nodes.numpy(), drop_threshold(dropout), scale, key


@compile_kernel
def _forward(vectors, matrix, terms, weights, nodes, first_row, threshold, scale, key, result):  # type: ignore[no-untyped-def]
    count, channels = weights.shape
    lanes = BYTES // vectors.itemsize
    direct = len(terms) == 0
    keys = np.empty(count, np.uint64)
    for begin in range(0, channels, _COLUMNS):
        for row in range(len(nodes)):
            node = nodes[row]
            for k in range(count):
                keys[k] = mixed_key(key, first_row + row, k)
            for start in range(begin, min(begin + _COLUMNS, channels), lanes):
                # The last vector of columns overlaps the one before: whatever it writes twice is the same.
                column = min(start, channels - lanes)
                total = splat(vectors.dtype.type(0))
                for k in range(count):
                    element = splat(vectors.dtype.type(0))
                    if direct:
                        element = load(vectors, (k, node, column))
                    else:
                        for i in range(terms[k]):
                            element = element + load(matrix, (k, i, column)) * load(vectors, (i, node, column))
                    if threshold < ALWAYS:
                        element = keep(element, keys[k], column, threshold)
                    total = total + element * load(weights, (k, column))
                store(result, (row, column), total * splat(scale))


@compile_kernel
def _backward(vectors, matrix, terms, slope, nodes, first_row, threshold, scale, key, sums):  # type: ignore[no-untyped-def]
    count, channels = sums.shape
    lanes = BYTES // vectors.itemsize
    direct = len(terms) == 0
    keys = np.empty(count, np.uint64)
    whole = channels // lanes * lanes
    # The last vector of columns overlaps the one before, so its sums are kept apart.
    tail = np.zeros((count, lanes), vectors.dtype)
    for begin in range(0, channels, _COLUMNS):
        for row in range(len(nodes)):
            node = nodes[row]
            for k in range(count):
                keys[k] = mixed_key(key, first_row + row, k)
            for start in range(begin, min(begin + _COLUMNS, channels), lanes):
                column = min(start, channels - lanes)
                scaled = load(slope, (row, column)) * splat(scale)
                for k in range(count):
                    element = splat(vectors.dtype.type(0))
                    if direct:
                        element = load(vectors, (k, node, column))
                    else:
                        for i in range(terms[k]):
                            element = element + load(matrix, (k, i, column)) * load(vectors, (i, node, column))
                    if threshold < ALWAYS:
                        element = keep(element, keys[k], column, threshold)
                    if start < whole:
                        store(sums, (k, column), load(sums, (k, column)) + element * scaled)
                    else:
                        store(tail, (k, 0), load(tail, (k, 0)) + element * scaled)
    for column in range(whole, channels):
        for k in range(count):
            sums[k, column] = tail[k, lanes - channels + column]
