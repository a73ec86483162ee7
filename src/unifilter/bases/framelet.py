"""Undecimated framelets: low-pass and high-pass filters on several scales that together preserve the signal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal, get_args

import torch
from torch import Tensor

from unifilter._internal.checks import check_choice, check_count, check_hops
from unifilter.bases.base import Multiply, PolynomialBasis
from unifilter.bases.chebyshev import Chebyshev
from unifilter.bases.chebyshev_interpolation import ChebyshevInterpolation, interpolation_matrix

FilterBank = Literal["haar", "linear", "quadratic"]
# Degree of each family of splines, one less than its number of filters.
_DEGREES: dict[FilterBank, int] = {"haar": 1, "linear": 2, "quadratic": 3}


class Framelet(PolynomialBasis):
    r"""The framelets of a filter bank :math:`a, b^{(1)}, \dots, b^{(n)}` on J levels, low-pass first:

    .. math::
        \prod_{j=1}^{J} a(\xi_j), \qquad b^{(r)}(\xi_l) \prod_{j=1}^{l-1} a(\xi_j), \qquad
        \xi_j = \frac{\pi\lambda}{2}\, s^{j-J}.

    From Zheng et al., "How Framelets Enhance Graph Neural Networks" (ICML 2021). The filters are

    .. math:: \sqrt{\tbinom{n}{r}}\, \cos^{n-r}(\xi/2)\, \sin^{r}(\xi/2), \qquad r = 0, \dots, n,

    with n = 1 (Haar), 2 (linear) or 3 (quadratic). Their squares sum to 1, and so do the squares of all framelets: the
    transform preserves the energy of every signal, which is the definition of a tight frame.

    Here each framelet is a polynomial of degree K, the one that agrees with it at K + 1 Chebyshev points; :meth:`exact`
    computes the functions themselves. The authors approximate each factor separately, and compute the largest
    eigenvalue instead of using its bound 2. There are :math:`nJ + 1` vectors, for any K.

    Args:
        filters: ``"haar"``, ``"linear"`` or ``"quadratic"``.
        levels: Number of levels J.
        scale: The dilation s from one level to the next.
        squared: Use the square of each framelet, which is the effect of filtering with it and its adjoint. The squares
            sum to 1, so that weights of 1 reproduce the signal.

    Example:
        >>> import torch
        >>> from unifilter.bases import Framelet
        >>> Framelet(levels=1).exact(torch.tensor([0.0, 1.0, 2.0])).abs().round(decimals=4)
        tensor([[1.0000, 0.7071, 0.0000],
                [0.0000, 0.7071, 1.0000]])
    """

    def __init__(
        self, filters: FilterBank = "haar", levels: int = 2, scale: float = 2.0, squared: bool = False
    ) -> None:
        check_choice("filters", filters, get_args(FilterBank))
        if not 1 < scale < math.inf:
            raise ValueError(f"scale must be a number above 1, not {scale!r}: the usual dilation is 2")
        self.filters, self.scale, self.squared = filters, scale, squared
        self.levels = check_count("levels", levels, "the paper uses 1 to 3")

    def sequence(self, multiply: Multiply, start: Tensor, hops: int) -> Iterator[Tensor]:
        terms = torch.stack(list(Chebyshev().sequence(multiply, start, hops)))
        values = self.exact(ChebyshevInterpolation().points(hops))
        yield from torch.tensordot((values @ interpolation_matrix(hops)).to(terms), terms, dims=1)

    def exact(self, lam: Tensor) -> Tensor:
        """The exact framelets at Laplacian eigenvalues, ``[m, *lam.shape]``."""
        degree = _DEGREES[self.filters]
        low, framelets = torch.ones_like(lam), []
        for level in range(1, self.levels + 1):
            half = math.pi * lam / 4 * self.scale ** (level - self.levels)
            bank = [
                math.comb(degree, r) ** 0.5 * half.cos() ** (degree - r) * half.sin() ** r for r in range(degree + 1)
            ]
            framelets += [low * high for high in bank[1:]]
            low = low * bank[0]
        values = torch.stack([low, *framelets])
        return values.square() if self.squared else values

    def identity_weights(self, hops: int) -> Tensor:
        if not self.squared:
            raise ValueError(
                f"{self!r} reproduces a signal by filtering twice, not as a weighted sum: use squared=True, whose "
                "polynomials sum to 1"
            )
        check_hops(hops)
        return torch.ones(_DEGREES[self.filters] * self.levels + 1)
