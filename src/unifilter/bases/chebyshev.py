"""Chebyshev polynomials of the first kind."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from unifilter.bases.base import Multiply, PolynomialBasis


class Chebyshev(PolynomialBasis):
    r"""The basis :math:`T_k(\hat{\mathbf{L}})\,x` of ChebNet,
    with :math:`T_{k+1} = 2\hat{\mathbf{L}}\,T_k - T_{k-1}`, :math:`T_0 = \mathbf{I}`, :math:`T_1 = \hat{\mathbf{L}}`.

    From Defferrard, Bresson and Vandergheynst, "Convolutional Neural Networks on Graphs with Fast Localized Spectral
    Filtering" (NeurIPS 2016). The argument is the paper's, :math:`\hat{\mathbf{L}} = 2\mathbf{L}/\lambda_{\max} -
    \mathbf{I}` with the bound :math:`\lambda_{\max} = 2`, which is :math:`\mathbf{L} - \mathbf{I} = -\mathbf{P}`: low
    frequencies are at -1, and the odd polynomials have the opposite sign of :math:`T_k(\mathbf{P})`.

    Example:
        >>> import torch
        >>> from unifilter.bases import Chebyshev
        >>> Chebyshev().evaluate(torch.tensor([0.0, 0.5, 2.0]), hops=2)
        tensor([[ 1.0000,  1.0000,  1.0000],
                [-1.0000, -0.5000,  1.0000],
                [ 1.0000, -0.5000,  1.0000]])
    """

    def sequence(self, multiply: Multiply, start: Tensor, hops: int) -> Iterator[Tensor]:
        previous, current = start, -multiply(start)
        yield previous
        yield current
        for _ in range(1, hops):
            previous, current = current, -2 * multiply(current) - previous
            yield current
