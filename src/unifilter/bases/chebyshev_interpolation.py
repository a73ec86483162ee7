"""Chebyshev interpolation: the weights are values of the filter at the Chebyshev points."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from unifilter._internal.checks import check_hops
from unifilter.bases.base import Multiply, PolynomialBasis
from unifilter.bases.chebyshev import Chebyshev


class ChebyshevInterpolation(PolynomialBasis):
    r"""The basis of ChebNetII, whose weights are values of the filter:

    .. math::
        \ell_j(\lambda) = \frac{2}{K+1} \Big( \tfrac12 + \sum_{k=1}^{K} T_k(x_j)\, T_k(\lambda - 1) \Big), \qquad
        x_j = \cos\frac{(K - j + 1/2)\,\pi}{K + 1}.

    From He, Wei and Wen, "Convolutional Neural Networks on Graphs with Chebyshev Approximation, Revisited"
    (NeurIPS 2022). Since :math:`\ell_j` is 1 at its own point and 0 at the others, :math:`\sum_j g_j \ell_j` is the
    polynomial that takes the value :math:`g_j` at the Laplacian eigenvalue :math:`1 + x_j`; see :meth:`points`.

    Example:
        >>> from unifilter.bases import ChebyshevInterpolation
        >>> basis = ChebyshevInterpolation()
        >>> basis.points(hops=2)
        tensor([0.1340, 1.0000, 1.8660], dtype=torch.float64)
        >>> basis.evaluate(basis.points(hops=2), hops=2).round().abs()
        tensor([[1., 0., 0.],
                [0., 1., 0.],
                [0., 0., 1.]], dtype=torch.float64)
    """

    def sequence(self, multiply: Multiply, start: Tensor, hops: int) -> Iterator[Tensor]:
        terms = torch.stack(list(Chebyshev().sequence(multiply, start, hops)))
        yield from torch.tensordot(interpolation_matrix(hops).to(terms), terms, dims=1)

    def points(self, hops: int) -> Tensor:
        """The Laplacian eigenvalues at which weight j is the value of the filter, ascending, float64 ``[hops + 1]``."""
        return 1 + _angles(check_hops(hops)).cos()

    def identity_weights(self, hops: int) -> Tensor:
        return torch.ones(check_hops(hops) + 1)


def interpolation_matrix(hops: int) -> Tensor:
    """Row j: Chebyshev coefficients of the polynomial that is 1 at point j and 0 at the others, float64."""
    matrix = 2 / (hops + 1) * torch.cos(_angles(hops)[:, None] * torch.arange(hops + 1))
    # The constant counts half, as in every Chebyshev series; otherwise a filter of ones would not be the identity.
    matrix[:, 0] /= 2
    return matrix


def _angles(hops: int) -> Tensor:
    """Arc cosines of the Chebyshev points; T_k at point j is the cosine of k times angle j."""
    return (torch.arange(hops, -1, -1, dtype=torch.float64) + 0.5) * (math.pi / (hops + 1))
