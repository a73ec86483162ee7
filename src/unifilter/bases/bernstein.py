"""Bernstein polynomials on the spectrum [0, 2]."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from unifilter._internal.checks import check_hops
from unifilter.bases.base import Multiply, PolynomialBasis


class Bernstein(PolynomialBasis):
    r"""The basis :math:`2^{-K} \binom{K}{k} (2\mathbf{I} - \mathbf{L})^{K-k} \mathbf{L}^k\, x` of BernNet.

    From He et al., "BernNet: Learning Arbitrary Graph Spectral Filters via Bernstein Approximation" (NeurIPS 2021).
    Polynomial k is non-negative on the whole spectrum and peaks at :math:`\lambda = 2k/K`, so non-negative weights
    give a non-negative filter.

    All polynomials have degree K. They are computed together from degree 0,
    :math:`b_k^{n+1} = \frac{2\mathbf{I}-\mathbf{L}}{2} b_k^n + \frac{\mathbf{L}}{2} b_{k-1}^n`, which takes
    :math:`K(K+1)/2` products and neither binomials nor large powers. This is cheap on the small matrices of a
    factorization. On whole signals, :func:`unifilter.bases.to_chebyshev` gives the same filter with K products.

    Example:
        >>> import torch
        >>> from unifilter.bases import Bernstein
        >>> Bernstein().evaluate(torch.tensor([0.0, 1.0, 2.0]), hops=2)
        tensor([[1.0000, 0.2500, 0.0000],
                [0.0000, 0.5000, 0.0000],
                [0.0000, 0.2500, 1.0000]])
    """

    def sequence(self, multiply: Multiply, start: Tensor, hops: int) -> Iterator[Tensor]:
        terms = [start]
        for _ in range(hops):
            propagated = [multiply(y) for y in terms]
            # P is I - L, so these are the products with (2I - L) / 2 and L / 2.
            low = [(y + p) / 2 for y, p in zip(terms, propagated, strict=True)]
            high = [(y - p) / 2 for y, p in zip(terms, propagated, strict=True)]
            terms = [low[0], *(a + b for a, b in zip(low[1:], high[:-1], strict=True)), high[-1]]
        yield from terms

    def identity_weights(self, hops: int) -> Tensor:
        return torch.ones(check_hops(hops) + 1)
