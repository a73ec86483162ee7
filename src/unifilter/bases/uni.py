"""UniBasis: a mixture of the homophily and the heterophily basis."""

from __future__ import annotations

from torch import Tensor

from unifilter._internal.checks import check_fraction
from unifilter.bases.base import Basis
from unifilter.bases.heterophily import Heterophily
from unifilter.bases.monomial import Monomial
from unifilter.bases.released import released_coefficients
from unifilter.bases.tridiagonal import Tridiagonal


class Uni(Basis):
    r"""UniBasis, :math:`\tau \mathbf{P}^k x + (1-\tau) u_k`: a mixture of the homophily and the heterophily basis.

    From "How Universal Polynomial Bases Enhance Spectral Graph Neural Networks: Heterophily, Over-smoothing, and
    Over-squashing" (ICML 2024).

    Args:
        tau: Share of the homophily basis, in [0, 1].
        homophily: The graph's homophily h, in [0, 1]; :func:`unifilter.estimate_homophily` estimates it.
        formulation: ``"paper"``, for which Theorem 4.3 holds, or ``"released"``, which reproduces the authors'
            published code: it computes the angle from the mixed vectors, and hop 0 is the raw signal.
    """

    def __init__(self, tau: float, homophily: float, formulation: str = "paper") -> None:
        self.tau = check_fraction("tau", tau)
        self.homophily = Heterophily(homophily, formulation).homophily
        self.formulation = formulation

    def coefficients(self, tridiagonal: Tridiagonal) -> Tensor:
        if self.formulation == "released":
            return released_coefficients(tridiagonal, self.tau, self.homophily)
        smooth = Monomial().coefficients(tridiagonal)
        rotated = Heterophily(self.homophily).coefficients(tridiagonal)
        return self.tau * smooth + (1 - self.tau) * rotated
