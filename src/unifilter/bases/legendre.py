"""Legendre polynomials, orthogonal on [-1, 1] with constant weight."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from unifilter.bases.base import Multiply, PolynomialBasis


class Legendre(PolynomialBasis):
    r"""The basis :math:`P_k(\mathbf{P})\,x` of Legendre polynomials,
    with :math:`(k+1)\,P_{k+1} = (2k+1)\,\mathbf{P}\,P_k - k\,P_{k-1}`, :math:`P_0 = \mathbf{I}`,
    :math:`P_1 = \mathbf{P}`.

    One of the bases compared by Wang and Zhang, "How Powerful are Spectral Graph Neural Networks" (ICML 2022), and the
    same as :class:`Jacobi` with a = b = 0. The argument is :math:`\mathbf{P}`, and every polynomial is 1 at
    :math:`\lambda = 0`.

    Example:
        >>> import torch
        >>> from unifilter.bases import Legendre
        >>> Legendre().evaluate(torch.tensor([0.0, 1.0, 2.0]), hops=2)
        tensor([[ 1.0000,  1.0000,  1.0000],
                [ 1.0000,  0.0000, -1.0000],
                [ 1.0000, -0.5000,  1.0000]])
    """

    def sequence(self, multiply: Multiply, start: Tensor, hops: int) -> Iterator[Tensor]:
        previous, current = start, multiply(start)
        yield previous
        yield current
        for k in range(1, hops):
            previous, current = current, ((2 * k + 1) * multiply(current) - k * previous) / (k + 1)
            yield current
