"""One recurrence for many signals, from the recurrence of each signal."""

from __future__ import annotations

import torch
from torch import Tensor

from unifilter.bases import Tridiagonal

# As in a factorization: a vector counts as reached while its remainder after orthogonalization is more than this share
# of its length before, in double precision, and more than rounding.
_LEAST_SHARE = 4 * torch.finfo(torch.float64).eps ** 0.5
_LEAST = 64 * torch.finfo(torch.float64).eps


def pooled(own: Tridiagonal, share: Tensor) -> Tridiagonal:
    r"""The recurrence in the inner product :math:`\sum_c s_c \langle a_c, b_c \rangle` of all signals together.

    Each signal's tridiagonal is the Gauss quadrature of its spectral measure, exact up to degree ``2 hops + 1``. So
    the points of all quadratures, with the weights :math:`s_c \omega`, represent all signals up to the degree that
    ``hops`` steps need, and Lanczos on the diagonal matrix of these points gives the recurrence of all signals. The
    computation is on ``channels (hops + 1)`` numbers for any size of the graph, in double precision, and every vector
    is orthogonalized against all previous ones.

    Args:
        own: The tridiagonal of each signal, float64.
        share: Non-negative weight of each signal, ``[channels]``; zero signals do not count.

    Returns:
        One channel in float64, with norm 1, or with dimension 0 if no signal counts.

    Example:
        >>> import torch
        >>> from unifilter import Graph, factorize
        >>> from unifilter.factorization.pooling import pooled
        >>> edge = Graph.from_edges(torch.tensor([[0], [1]]))
        >>> own = factorize(edge, torch.tensor([[1.0, 1.0], [1.0, -1.0]]).double(), hops=1).tridiagonal
        >>> own.alpha[0].round(), pooled(own, torch.ones(2)).alpha[0].round()  # a signal at each end of the spectrum
        (tensor([ 1., -1.], dtype=torch.float64), tensor([0.], dtype=torch.float64))
    """
    values, directions = torch.linalg.eigh(own.dense())
    weights = directions[:, 0, :] ** 2 * (share.to(own.alpha) * (own.dimension > 0))[:, None]
    counts = weights > 0
    points, weights = values[counts], weights[counts]
    hops, alpha, beta = own.hops, own.alpha.new_zeros(own.hops + 1), own.beta.new_zeros(own.hops)
    dimension = 0
    vectors = points.new_zeros(hops + 1, len(points))
    if len(points):
        vectors[0] = (weights / weights.sum()).sqrt()
        dimension = 1
    for hop in range(dimension and hops + 1):
        rest = points * vectors[hop]
        alpha[hop] = rest @ vectors[hop]
        propagated = torch.linalg.vector_norm(rest)
        if hop == hops:
            break
        for _ in range(2):
            rest = rest - (vectors[: hop + 1] @ rest) @ vectors[: hop + 1]
        length = torch.linalg.vector_norm(rest)
        if length <= max(_LEAST_SHARE * propagated, _LEAST):
            break
        beta[hop], vectors[hop + 1] = length, rest / length
        dimension += 1
    norm = own.norm.new_ones(1) if dimension else own.norm.new_zeros(1)
    return Tridiagonal(alpha[:, None], beta[:, None], norm, own.dimension.new_full((1,), dimension))


def inner_products(shared: Tridiagonal, own: Tridiagonal) -> Tensor:
    r"""Inner products of the vectors :math:`\pi_i(\mathbf{P}) y` of each signal, from tridiagonals alone.

    Args:
        shared: Tridiagonal of the polynomials :math:`\pi_i`, one channel.
        own: The tridiagonal of each signal y of length 1.

    Returns:
        ``[hops + 1, hops + 1, channels]``; zero for a zero signal.
    """
    coordinates = torch.stack(list(shared.sequence(own.multiply, own.first())))
    return torch.einsum("ilc,klc->ikc", coordinates, coordinates)


def joined(parts: list[Tridiagonal]) -> Tridiagonal:
    """The channels of several tridiagonals, one after the other."""
    alpha, beta = (torch.cat([getattr(part, name) for part in parts], dim=1) for name in ("alpha", "beta"))
    norm, dimension = (torch.cat([getattr(part, name) for part in parts]) for name in ("norm", "dimension"))
    return Tridiagonal(alpha, beta, norm, dimension)
