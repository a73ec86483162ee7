"""Change of basis from any fixed polynomial family to Chebyshev polynomials, where a filter takes K products."""

from __future__ import annotations

from torch import Tensor

from unifilter.bases.base import PolynomialBasis
from unifilter.bases.chebyshev_interpolation import ChebyshevInterpolation, interpolation_matrix


def to_chebyshev(basis: PolynomialBasis, hops: int) -> Tensor:
    r"""The matrix :math:`\mathbf{C}` with :math:`p_k(\lambda) = \sum_j C_{kj}\, T_j(\lambda - 1)`.

    As in :class:`Chebyshev`, the argument of :math:`T_j` is :math:`\lambda - 1`, that is :math:`-\mathbf{P}`. A filter
    with weights ``w`` on ``basis`` is therefore the filter with weights ``w @ to_chebyshev(basis, hops)`` on
    ``Chebyshev()``. The polynomials are evaluated at the Chebyshev points and transformed by cosines. This is exact up
    to rounding for degrees up to ``hops``, and no coefficient is more than twice as large as its polynomial on the
    spectrum.

    Args:
        basis: A fixed polynomial family, for instance ``make_basis("bernstein")``.
        hops: Degree K of the family.

    Returns:
        float64 ``[m, hops + 1]``, one row for each of the m polynomials of the family.

    Example:
        >>> from unifilter.bases import Monomial, to_chebyshev
        >>> to_chebyshev(Monomial(), hops=2).mul(2).round().int()  # P = -T_1(-P), 2 P^2 = T_0(-P) + T_2(-P)
        tensor([[ 2,  0,  0],
                [ 0, -2,  0],
                [ 1,  0,  1]], dtype=torch.int32)
    """
    if not isinstance(basis, PolynomialBasis):
        raise ValueError(
            f"only a fixed polynomial family has Chebyshev coefficients, not {basis!r}: "
            'pass a PolynomialBasis, such as make_basis("bernstein")'
        )
    points = ChebyshevInterpolation().points(hops)
    return basis.evaluate(points, hops=hops) @ interpolation_matrix(hops)
