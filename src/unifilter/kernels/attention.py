"""Attention with dropout on the CPU, some queries at a time: torch's own writes out every weight, several times.

The products are torch's; whatever happens between them to a row of weights (softmax, dropout, and the slope of both)
happens in one pass over it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import scaled_dot_product_attention

from unifilter.kernels.compiling import compile_kernel
from unifilter.kernels.lane_functions import exponential, larger, largest, total
from unifilter.kernels.lanes import BYTES, keep, load, splat, store
from unifilter.kernels.random_bits import ALWAYS, Mask, draw_seed, drop_threshold, is_kept, make_mask, mixed_key
from unifilter.kernels.threads import for_each, parts_of

# Weights worked on together: few enough to stay in the cache.
_WEIGHTS_AT_ONCE = 1 << 19


def attention(queries: Tensor, keys: Tensor, values: Tensor, p: float = 0.0) -> Tensor:
    r"""``dropout(softmax(q k^T / sqrt(channels))) v`` for each head; all three are ``[heads, length, channels]``.

    The backward pass makes weights and mask again instead of storing them, so that memory grows with the length and not
    with its square. The seed of the mask is torch's.
    """
    suits = queries.device.type == "cpu" and queries.dtype in (torch.float32, torch.float64)
    if drop_threshold(p) == ALWAYS or not suits or keys.shape[1] * keys.element_size() < BYTES:
        # torch has its fast path for batches alone.
        return scaled_dot_product_attention(queries[None], keys[None], values[None], dropout_p=p)[0]
    # A factor of the queries costs less than one of the weights.
    scaled = queries * queries.shape[2] ** -0.5
    return _Attention.apply(scaled, keys, values, p, draw_seed())  # type: ignore[no-any-return,no-untyped-call]


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, p: float, seed: int) -> Tensor:
        result = torch.empty_like(queries)
        # Of the exponentials of each query's scores: all that the backward pass needs to make its weights again.
        log_sums = torch.empty(queries.shape[:2], dtype=queries.dtype)
        mask = make_mask(p, seed, log_sums.numpy().dtype)
        scores = _space_for(queries, keys)
        for head, part, first_row in _parts(queries, keys):
            some = scores[: part.stop - part.start]
            torch.mm(queries[head, part], keys[head].T, out=some)
            _in_parallel(_weigh, first_row, mask, some, log_sums[head, part])
            torch.mm(some, values[head], out=result[head, part])
        ctx.save_for_backward(queries, keys, values, result, log_sums)
        ctx.mask = mask
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, values, result, log_sums = ctx.saved_tensors
        of_queries, of_keys, of_values = torch.empty_like(queries), torch.zeros_like(keys), torch.zeros_like(values)
        # What all weights of a query have in common changes nothing: the mean of their slopes, which is this.
        means = (slope * result).sum(dim=2)
        scores, slopes = _space_for(queries, keys), _space_for(queries, keys)
        for head, part, first_row in _parts(queries, keys):
            some, of_some = scores[: part.stop - part.start], slopes[: part.stop - part.start]
            torch.mm(queries[head, part], keys[head].T, out=some)
            torch.mm(slope[head, part], values[head].T, out=of_some)
            _in_parallel(_weigh_again, first_row, ctx.mask, some, of_some, log_sums[head, part], means[head, part])
            of_values[head].addmm_(some.T, slope[head, part])
            torch.mm(of_some, keys[head], out=of_queries[head, part])
            of_keys[head].addmm_(of_some.T, queries[head, part])
        return of_queries, of_keys, of_values, None, None


def _rows_at_once(keys: Tensor) -> int:
    return max(_WEIGHTS_AT_ONCE // keys.shape[1], 1)


def _space_for(queries: Tensor, keys: Tensor) -> Tensor:
    """A weight for each of some queries and every key."""
    return torch.empty(min(_rows_at_once(keys), queries.shape[1]), keys.shape[1], dtype=keys.dtype)


def _parts(queries: Tensor, keys: Tensor) -> Iterator[tuple[int, slice, int]]:
    """Head, some of its queries, and the row of the mask that belongs to the first: rows go on through all heads."""
    heads, length, _ = queries.shape
    rows = _rows_at_once(keys)
    for head in range(heads):
        for begin in range(0, length, rows):
            yield head, slice(begin, min(begin + rows, length)), head * length + begin


def _in_parallel(kernel: Any, first_row: int, mask: Mask, *by_row: Tensor) -> None:
    """A kernel on all rows of some arrays."""
    arrays = [tensor.numpy() for tensor in by_row]

    def work(part: slice) -> None:
        kernel(first_row + part.start, mask, *(array[part] for array in arrays))

    for_each(work, parts_of(len(arrays[0])), arrays[0].size)


@compile_kernel
def _weigh(first_row, mask, scores, log_sums):  # type: ignore[no-untyped-def]
    """Scores become weights with dropout."""
    columns = scores.shape[1]
    lanes = BYTES // scores.itemsize
    whole = columns // lanes * lanes
    zero = scores.dtype.type(0)
    for row in range(len(scores)):
        most = load(scores, (row, columns - lanes))
        for column in range(0, whole, lanes):
            most = larger(load(scores, (row, column)), most)
        shift = largest(most)
        sums = splat(zero)
        for column in range(0, whole, lanes):
            weight = exponential(load(scores, (row, column)) - splat(shift))
            sums = sums + weight
            store(scores, (row, column), weight)
        sum_of_row = total(sums)
        for column in range(whole, columns):
            scores[row, column] = np.exp(scores[row, column] - shift)
            sum_of_row += scores[row, column]
        log_sums[row] = shift + np.log(sum_of_row)
        factor = mask.scale / sum_of_row
        bits = mixed_key(mask.key, first_row + row, 0)
        for column in range(0, whole, lanes):
            kept = keep(load(scores, (row, column)), bits, column, mask.threshold)
            store(scores, (row, column), kept * splat(factor))
        for column in range(whole, columns):
            scores[row, column] *= factor if is_kept(bits, column, mask.threshold) else zero


@compile_kernel
def _weigh_again(first_row, mask, scores, slopes, log_sums, means):  # type: ignore[no-untyped-def]
    """Scores become weights with dropout, and slopes in those the slopes in the scores."""
    columns = scores.shape[1]
    lanes = BYTES // scores.itemsize
    whole = columns // lanes * lanes
    zero = scores.dtype.type(0)
    for row in range(len(scores)):
        log_sum, mean = log_sums[row], means[row]
        bits = mixed_key(mask.key, first_row + row, 0)
        for column in range(0, whole, lanes):
            weight = exponential(load(scores, (row, column)) - splat(log_sum))
            # Of a column that is dropped both factors are 0.
            factor = keep(splat(mask.scale), bits, column, mask.threshold)
            store(scores, (row, column), weight * factor)
            store(slopes, (row, column), weight * (load(slopes, (row, column)) * factor - splat(mean)))
        for column in range(whole, columns):
            weight = np.exp(scores[row, column] - log_sum)
            factor = mask.scale if is_kept(bits, column, mask.threshold) else zero
            scores[row, column] = weight * factor
            slopes[row, column] = weight * (slopes[row, column] * factor - mean)
