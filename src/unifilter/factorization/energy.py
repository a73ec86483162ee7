"""How much of a signal's energy lies below each graph frequency, with bounds that the truth cannot leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from unifilter.bases import Tridiagonal
from unifilter.factorization.density import density_of

# Laplacian eigenvalues at which curves are drawn: fine enough for the eye, few enough for every frame of the page.
GRID = np.linspace(0.0, 2.0, 61)
# An eigenvalue this close to a point of the grid counts as at it: single precision leaves about 1e-7.
_AT = 1e-6
# Charts of a response fit the eigenvalues between which lies all energy but this share at each end.
_TAIL = 0.01
# Of the height of a chart, above and below its curves.
_MARGIN = 0.06


@dataclass(frozen=True, eq=False)
class EnergyShare:
    r"""The share of energy at or below each Laplacian eigenvalue of the grid, mean over the signals.

    The Gauss quadrature of a spectral measure puts weights :math:`w_1, w_2, \dots` at :math:`\lambda_1 < \lambda_2 <
    \dots`. The true cumulative share :math:`F` obeys the Chebyshev-Markov-Stieltjes inequalities
    :math:`\sum_{i<j} w_i \le F(\lambda_j^-)` and :math:`F(\lambda_j) \le \sum_{i \le j} w_i`, so between
    :math:`\lambda_j` and :math:`\lambda_{j+1}` it lies between :math:`\sum_{i<j} w_i` and
    :math:`\sum_{i \le j+1} w_i`. These are the error bars: not an estimate, but bounds. A signal whose space is
    exhausted has an exact quadrature and none.

    Attributes:
        share: What the quadrature says, ``[len(GRID)]``.
        low, high: Bounds on the true share.
        frequency: Definition 2.2 of each signal, ``[signals]``; exact, for it is a moment.
    """

    share: np.ndarray
    low: np.ndarray
    high: np.ndarray
    frequency: np.ndarray

    @property
    def span(self) -> tuple[float, float]:
        """Two eigenvalues of the grid that hold 98 % of the energy between them: 1 % or less is outside at each end."""
        # What is between two points of the grid counts at the second: the span starts at the first.
        first = max(int(np.argmax(self.share > _TAIL)) - 1, 0)
        last = int(np.argmax(self.share >= 1 - _TAIL))
        return float(GRID[first]), float(GRID[last])


def energy_share(tridiagonal: Tridiagonal) -> EnergyShare:
    """Of signals none of which is zero; every signal counts the same."""
    density = density_of(tridiagonal)
    # Directions that were never reached have no energy and must not count as points: put them behind the last.
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
    """Which eigenvalues lie in a span, a mask; at least the one that is closest to it.

    Args:
        span: See :attr:`EnergyShare.span`.
        lam: Laplacian eigenvalues.
    """
    distance = np.maximum(span[0] - lam, lam - span[1])
    inside: np.ndarray = distance <= max(distance.min(), _AT)
    return inside


def gain_axis(span: tuple[float, float], lam: np.ndarray, *curves: np.ndarray) -> tuple[float, float]:
    """The part of the gain axis that a chart shows: 0, and the curves inside a span.

    Args:
        span: The eigenvalues that hold almost all energy of the features; elsewhere nothing is there to be filtered,
            and the curves may grow without bounds.
        lam: The eigenvalues at which the curves are given.
        curves: Gains, each as long as ``lam``.
    """
    inside = within(span, lam)
    shown = np.concatenate([*(curve[inside] for curve in curves), [0.0]])
    low, high = float(shown.min()), float(shown.max())
    margin = _MARGIN * (high - low) or 1.0
    return low - margin, high + margin
