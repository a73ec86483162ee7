"""The heterophily basis: equal angles between all vectors."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from unifilter._internal.checks import check_choice, check_fraction
from unifilter.bases.base import Basis
from unifilter.bases.released import released_coefficients
from unifilter.bases.tridiagonal import Tridiagonal


class Heterophily(Basis):
    r"""The heterophily basis of Algorithm 1: unit vectors with pairwise angles of :math:`(1-h)\pi/2`.

    Unit vectors with pairwise inner product :math:`c`, the k-th in the span of :math:`v_0, \dots, v_k`, are the rows of
    the Cholesky factor of :math:`(1-c)\mathbf{I} + c\mathbf{1}\mathbf{1}^\top`. Its closed form never divides by
    :math:`c`, so ``homophily=0`` (orthonormal vectors) and ``homophily=1`` (all vectors equal) need no special case.

    If the Krylov space of a channel is exhausted before the last hop, the coefficients of its existing vectors stay the
    same, and its later vectors are shorter than 1.

    Args:
        homophily: The graph's homophily h, in [0, 1].
        formulation: ``"paper"``, or ``"released"`` for the authors' published code (see :class:`Uni`).
    """

    def __init__(self, homophily: float, formulation: str = "paper") -> None:
        self.homophily = check_fraction("homophily", homophily)
        check_choice("formulation", formulation, ("paper", "released"))
        self.formulation = formulation

    def coefficients(self, tridiagonal: Tridiagonal) -> Tensor:
        if self.formulation == "released":
            return released_coefficients(tridiagonal, tau=0.0, homophily=self.homophily)
        cosine = tridiagonal.alpha.new_tensor(cosine_of_angle(self.homophily))
        rows = heterophily_coefficients(cosine, tridiagonal.hops)
        # A zero signal has no direction: its coefficients are zero, like its vectors.
        return rows[:, :, None] * tridiagonal.reached[0]


def cosine_of_angle(homophily: float) -> float:
    """cos((1 - h) pi / 2), computed as a sine because that is exactly 0 at h = 0."""
    return math.sin(homophily * math.pi / 2)


def heterophily_coefficients(cosine: Tensor, hops: int) -> Tensor:
    r"""Rows of :math:`\mathrm{chol}((1-c)\mathbf{I} + c\mathbf{1}\mathbf{1}^\top)`, ``[hops + 1, hops + 1]``.

    Differentiable in ``cosine``.
    """
    rows = [torch.nn.functional.one_hot(torch.tensor(0), hops + 1).to(cosine)]
    total = rows[0]
    for k in range(1, hops + 1):
        share = cosine / (1 + (k - 1) * cosine)
        fresh = ((1 - cosine) * (1 + k * cosine) / (1 + (k - 1) * cosine)).sqrt()
        unit = torch.nn.functional.one_hot(torch.tensor(k), hops + 1).to(cosine)
        rows.append(share * total + fresh * unit)
        total = total + rows[-1]
    return torch.stack(rows)
