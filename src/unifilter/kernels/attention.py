"""Attention with dropout on the CPU, some queries at a time: torch's own writes out every weight, several times."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import scaled_dot_product_attention

from unifilter.kernels.dropout import drop_rows
from unifilter.kernels.lanes import BYTES
from unifilter.kernels.random_bits import ALWAYS, draw_seed, drop_threshold

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
    return _Attention.apply(queries, keys, values, p, draw_seed())  # type: ignore[no-any-return,no-untyped-call]


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, p: float, seed: int) -> Tensor:
        ctx.save_for_backward(queries, keys, values)
        ctx.p, ctx.seed = p, seed
        result = torch.empty_like(queries)
        for part in _parts(queries, keys):
            weights = _weights(queries, keys, part)
            result[:, part] = _drop(weights, p, seed, part) @ values
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, values = ctx.saved_tensors
        of_queries, of_keys, of_values = torch.empty_like(queries), torch.zeros_like(keys), torch.zeros_like(values)
        scale = queries.shape[2] ** -0.5
        for part in _parts(queries, keys):
            weights = _weights(queries, keys, part)
            of_values += _drop(weights, ctx.p, ctx.seed, part).mT @ slope[:, part]
            of_weights = _drop(slope[:, part] @ values.mT, ctx.p, ctx.seed, part)
            # Of the softmax: what all weights of a query have in common changes nothing.
            of_weights.mul_(weights)
            of_scores = of_weights.sub_(weights.mul_(of_weights.sum(dim=2, keepdim=True))).mul_(scale)
            of_queries[:, part] = of_scores @ keys
            of_keys += of_scores.mT @ queries[:, part]
        return of_queries, of_keys, of_values, None, None


def _parts(queries: Tensor, keys: Tensor) -> list[slice]:
    heads, length, _ = queries.shape
    rows = max(_WEIGHTS_AT_ONCE // (heads * keys.shape[1]), 1)
    return [slice(begin, min(begin + rows, length)) for begin in range(0, length, rows)]


def _weights(queries: Tensor, keys: Tensor, part: slice) -> Tensor:
    return torch.softmax(queries[:, part] @ keys.mT * queries.shape[2] ** -0.5, dim=2)


def _drop(weights: Tensor, p: float, seed: int, part: slice) -> Tensor:
    # Keys are as many as queries: rows are numbered through all heads, whatever the parts are.
    length = weights.shape[2]
    return torch.stack(
        [drop_rows(one, p, seed, first_row=head * length + part.start) for head, one in enumerate(weights)]
    )
