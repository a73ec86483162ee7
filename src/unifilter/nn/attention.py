"""Attention with dropout in blocks of queries: memory grows linearly with the number of keys, not quadratically."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from unifilter.kernels.dropout import drop_rows_into
from unifilter.kernels.random_bits import draw_seed

# Weights per block: few enough for the cache, and enough to hide the cost of waking threads.
_WEIGHTS_AT_ONCE = 1 << 20


def attention(queries: Tensor, keys: Tensor, values: Tensor, p: float = 0.0) -> Tensor:
    r"""``dropout(softmax(q k^T / sqrt(channels))) v`` for each head; all three are ``[heads, length, channels]``.

    The backward pass recomputes weights and mask instead of storing them. The seed of the mask comes from torch.
    """
    # Scaling the queries costs less than scaling the weights.
    scaled = queries * queries.shape[2] ** -0.5
    return _Attention.apply(scaled, keys, values, p, draw_seed() if p > 0 else 0)  # type: ignore[no-any-return,no-untyped-call]


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, p: float, seed: int) -> Tensor:
        result = torch.empty_like(queries)
        for head, part, first_row, weights, scores in _parts(queries, keys):
            _weigh(queries[head, part], keys[head], scores, weights)
            dropped = drop_rows_into(weights, p, seed, first_row, scores)
            torch.mm(dropped, values[head], out=result[head, part])
        ctx.save_for_backward(queries, keys, values, result)
        ctx.mask = p, seed
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, values, result = ctx.saved_tensors
        p, seed = ctx.mask
        of_queries, of_keys, of_values = torch.empty_like(queries), torch.zeros_like(keys), torch.zeros_like(values)
        # The softmax ignores a constant added to all scores of a query, so the mean of their gradients is subtracted.
        means = (grad * result).sum(dim=2, keepdim=True)
        for head, part, first_row, weights, scores in _parts(queries, keys):
            _weigh(queries[head, part], keys[head], scores, weights)
            dropped = drop_rows_into(weights, p, seed, first_row, scores)
            of_values[head].addmm_(dropped.T, grad[head, part])
            of_dropped = grad[head, part] @ values[head].T
            of_scores = drop_rows_into(of_dropped, p, seed, first_row, scores)
            of_scores = torch.sub(of_scores, means[head, part], out=scores).mul_(weights)
            torch.mm(of_scores, keys[head], out=of_queries[head, part])
            of_keys[head].addmm_(of_scores.T, queries[head, part])
        return of_queries, of_keys, of_values, None, None


def _parts(queries: Tensor, keys: Tensor) -> Iterator[tuple[int, slice, int, Tensor, Tensor]]:
    """Head, some of its queries, the row of the mask that belongs to the first, and two arrays for their weights.

    Rows of the mask go on through all heads.
    """
    heads, length, _ = queries.shape
    rows = max(_WEIGHTS_AT_ONCE // keys.shape[1], 1)
    space = queries.new_empty(2, min(rows, length), keys.shape[1])
    for head in range(heads):
        for begin in range(0, length, rows):
            end = min(begin + rows, length)
            yield head, slice(begin, end), head * length + begin, *space[:, : end - begin]


def _weigh(queries: Tensor, keys: Tensor, scores: Tensor, weights: Tensor) -> None:
    torch.mm(queries, keys.T, out=scores)
    torch.softmax(scores, dim=1, out=weights)
