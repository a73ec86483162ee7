"""Jacobi polynomials, orthogonal on [-1, 1] with weight (1 - mu)^a (1 + mu)^b."""

from __future__ import annotations

import math
from collections.abc import Iterator

from torch import Tensor

from unifilter.bases.base import Multiply, PolynomialBasis


class Jacobi(PolynomialBasis):
    r"""The basis :math:`P_k^{(a,b)}(\mathbf{P})\,x` of JacobiConv, with

    .. math::
        P_k^{(a,b)} = (\theta_k \mathbf{P} + \theta'_k \mathbf{I})\, P_{k-1}^{(a,b)} - \theta''_k P_{k-2}^{(a,b)},
        \quad P_0^{(a,b)} = \mathbf{I},
        \quad P_1^{(a,b)} = \tfrac{a-b}{2} \mathbf{I} + \tfrac{a+b+2}{2} \mathbf{P}.

    From Wang and Zhang, "How Powerful are Spectral Graph Neural Networks" (ICML 2022). The argument is
    :math:`\mathbf{P}`, so low frequencies are at 1. A larger a reduces the weight of low frequencies, a larger b that
    of high ones. With :math:`a = b = 0` these are the Legendre polynomials, with :math:`a = b = -1/2` multiples of the
    Chebyshev polynomials.

    The authors' code subtracts :math:`\theta'_k` where the recurrence adds it. Its polynomials are Jacobi polynomials
    only if :math:`a = b`. ``published_sign=True`` reproduces it, to trace reported accuracies.

    Orthogonality needs a and b above -1. One of them may be -1, as in the authors' setting for Actor: the recurrence
    stays finite, but with :math:`a = -1` all polynomials except the first are zero at :math:`\lambda = 0`, and with
    :math:`b = -1` they are zero at :math:`\lambda = 2`.

    Args:
        a: Exponent at :math:`\lambda = 0`, at least -1.
        b: Exponent at :math:`\lambda = 2`, at least -1.
        published_sign: Subtract :math:`\theta'_k`, as the authors' code does.

    Example:
        >>> import torch
        >>> from unifilter.bases import Jacobi
        >>> Jacobi(a=1.0, b=0.0).evaluate(torch.tensor([0.0, 1.0, 2.0]), hops=2)
        tensor([[ 1.0000,  1.0000,  1.0000],
                [ 2.0000,  0.5000, -1.0000],
                [ 3.0000, -0.5000,  1.0000]])
    """

    def __init__(self, a: float = 1.0, b: float = 1.0, published_sign: bool = False) -> None:
        self.a = _check_exponent("a", a)
        self.b = _check_exponent("b", b)
        if self.a + self.b == -2:
            # The recurrence divides by a + b + 2.
            raise ValueError("a and b cannot both be -1, where the recurrence divides by zero: raise one of them")
        self.published_sign = published_sign

    def sequence(self, multiply: Multiply, start: Tensor, hops: int) -> Iterator[Tensor]:
        a, b = self.a, self.b
        previous, current = start, (a - b) / 2 * start + (a + b + 2) / 2 * multiply(start)
        yield previous
        yield current
        sign = -1 if self.published_sign else 1
        for k in range(2, hops + 1):
            s = 2 * k + a + b
            denominator = 2 * k * (k + a + b) * (s - 2)
            slope = (s - 2) * (s - 1) * s / denominator
            shift = sign * (s - 1) * (a**2 - b**2) / denominator
            back = 2 * (k - 1 + a) * (k - 1 + b) * s / denominator
            previous, current = current, slope * multiply(current) + shift * current - back * previous
            yield current


def _check_exponent(name: str, value: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not -1 <= number < math.inf:
        raise ValueError(f"{name} must be a number of at least -1, not {value!r}: pass a=1, b=1 for the usual setting")
    return number
