"""Weighted sums of basis vectors with dropout, at some nodes."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from unifilter.kernels.backend import use_compiled
from unifilter.kernels.random_bits import dropped

# Shorter rows do not fill a vector of the compiled kernels.
_LEAST_BYTES = 64


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
    # The compiled kernels have a gradient in the weights alone.
    learned = vectors.requires_grad or (coefficients is not None and coefficients.requires_grad)
    if not learned and not _narrow(vectors) and use_compiled(vectors):
        from unifilter.kernels.compiled.combine_rows import combine_rows_compiled

        return combine_rows_compiled(weights, linear, vectors, coefficients, nodes, *masks)
    combined = _combine_rows_torch(vectors, coefficients, weights, nodes, *masks)
    return combined if linear is None else functional.linear(combined, linear)


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
    combined = torch.einsum("kd,knd->nd", weights.to(basis), _drop(basis, dropout, seed))
    return _drop(combined, result_dropout, result_seed)


def _drop(x: Tensor, p: float, seed: int) -> Tensor:
    if p == 0:
        return x
    if torch.compiler.is_compiling() or not _narrow(x):
        return dropped(x, p, seed)
    # Narrow rows have the masks of torch's generator, with which results were measured.
    generator = torch.Generator(x.device).manual_seed(seed)
    return x * (torch.rand(x.shape, generator=generator, device=x.device) >= p) / (1 - p)


def _narrow(x: Tensor) -> bool:
    return x.shape[-1] * x.element_size() < _LEAST_BYTES
