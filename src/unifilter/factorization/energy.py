"""The share of a signal's energy below each graph frequency, with guaranteed bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from unifilter.bases import Tridiagonal
from unifilter.factorization.density import density_of

# Laplacian eigenvalues at which curves are drawn: fine enough for the eye, few enough for every frame of the page.
GRID = np.linspace(0.0, 2.0, 61)
# An eigenvalue this close to a grid point counts as equal to it: single precision has errors of about 1e-7.
_AT = 1e-6
# Charts of a response span the eigenvalues that hold all energy except this share at each end.
_TAIL = 0.01
# Margin above and below the curves, as a share of the height of a chart.
_MARGIN = 0.06


@dataclass(frozen=True, eq=False)
class EnergyShare:
    r"""The share of energy at or below each Laplacian eigenvalue of the grid, mean over the signals.

    The Gauss quadrature of a spectral measure puts weights :math:`w_1, w_2, \dots` at :math:`\lambda_1 < \lambda_2 <
    \dots`. The true cumulative share :math:`F` obeys the Chebyshev-Markov-Stieltjes inequalities
    :math:`\sum_{i<j} w_i \le F(\lambda_j^-)` and :math:`F(\lambda_j) \le \sum_{i \le j} w_i`, so between
    :math:`\lambda_j` and :math:`\lambda_{j+1}` it lies between :math:`\sum_{i<j} w_i` and
    :math:`\sum_{i \le j+1} w_i`. These error bars are bounds, not estimates. The quadrature of a signal whose Krylov
    space is exhausted is exact and has no error bars.

    Attributes:
        share: Share by the quadrature, ``[len(GRID)]``.
        low, high: Bounds on the true share.
        frequency: Frequency of each signal by Definition 2.2, ``[signals]``; exact, because it is a moment.
    """

    share: np.ndarray
    low: np.ndarray
    high: np.ndarray
    frequency: np.ndarray

    @property
    def span(self) -> tuple[float, float]:
        """Two eigenvalues of the grid with 98 % of the energy between them: at most 1 % is outside at each end."""
        # Energy between two grid points counts at the second point, so the span starts at the first.
        first = max(int(np.argmax(self.share > _TAIL)) - 1, 0)
        last = int(np.argmax(self.share >= 1 - _TAIL))
        return float(GRID[first]), float(GRID[last])


def energy_share(tridiagonal: Tridiagonal) -> EnergyShare:
    """The mean energy share of non-zero signals, with equal weights."""
    density = density_of(tridiagonal)
    # Unreached directions have no energy and must not count as points, so they are moved behind the last point.
    behind = density.lam.masked_fill(density.energy < torch.finfo(torch.float64).eps, torch.inf)
    lam, order = behind.sort(dim=0)
    total = torch.cat([torch.zeros_like(lam[:1]), density.energy.gather(0, order).cumsum(dim=0)])
    below = (lam[:, None] <= torch.from_numpy(GRID)[:, None] + _AT).sum(dim=0)
    exact = tridiagonal.dimension <= tridiagonal.hops

    def after(points: torch.Tensor) -> torch.Tensor:
        return total.gather(0, points.clamp(0, len(lam)))

    share = after(below)
    low = torch.where(exact, share, after(below - 1))
    high = torch.where(exact, share, after(below + 1))
    # All energy is at or below 2; rounding errors are removed.
    share[-1] = low[-1] = high[-1] = 1.0
    return EnergyShare(
        share.mean(dim=1).clamp(max=1).numpy(),
        low.mean(dim=1).clamp(max=1).numpy(),
        high.mean(dim=1).clamp(max=1).numpy(),
        ((1 - density.moment(1)) / 2).clamp(0, 1).numpy(),
    )


def within(span: tuple[float, float], lam: np.ndarray) -> np.ndarray:
    """Mask of the eigenvalues in a span, or of the closest eigenvalue if the span contains none.

    Args:
        span: See :attr:`EnergyShare.span`.
        lam: Laplacian eigenvalues.
    """
    distance = np.maximum(span[0] - lam, lam - span[1])
    inside: np.ndarray = distance <= max(distance.min(), _AT)
    return inside


def gain_axis(span: tuple[float, float], lam: np.ndarray, *curves: np.ndarray) -> tuple[float, float]:
    """The range of the gain axis of a chart: 0, and the curves inside a span.

    Args:
        span: Eigenvalues that hold almost all energy of the features. Outside the span the filter has nothing to act
            on, and the curves may be arbitrarily large.
        lam: Eigenvalues of the curves.
        curves: Gains, each as long as ``lam``.
    """
    inside = within(span, lam)
    shown = np.concatenate([*(curve[inside] for curve in curves), [0.0]])
    low, high = float(shown.min()), float(shown.max())
    margin = _MARGIN * (high - low) or 1.0
    return low - margin, high + margin
