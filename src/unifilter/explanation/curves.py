"""Curves that depend on tau and homophily: frequencies, angles and filter response, from the tridiagonals alone.

The page computes the same numbers in ``web/source/curves.js``: change both together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from unifilter.bases import Tridiagonal, Uni
from unifilter.factorization.energy import GRID, gain_axis
from unifilter.factorization.typical import possible_energy, weighted_quartiles

__all__ = ["GRID", "Curves", "compute_curves", "response_axis"]


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves of the universal basis at one tau and homophily, over the channels with a signal.

    Attributes:
        frequency, frequency_spread: Mean and standard deviation over the channels, ``[hops + 1]``, of the frequency of
            Definition 2.2, in [0, 1]; 0 for a zero vector.
        angles: Mean angle between two basis vectors in degrees, ``[hops + 1, hops + 1]``; 90 for a zero vector.
        response, response_low, response_high: Median and quartiles over the channels of the filter's response at
            :data:`GRID`. Each channel has its own polynomials, which can be large where it has no energy. Channels are
            therefore weighted at each eigenvalue by the energy they can have there, see :func:`possible_energy`.
    """

    frequency: np.ndarray
    frequency_spread: np.ndarray
    angles: np.ndarray
    response: np.ndarray
    response_low: np.ndarray
    response_high: np.ndarray


def compute_curves(tridiagonal: Tridiagonal, tau: float, homophily: float, weights: Tensor) -> Curves:
    """Compute the curves of a tridiagonal whose channels all have a signal.

    Args:
        tridiagonal: See :func:`with_signal`.
        tau: Share of the homophily basis.
        homophily: Homophily of the heterophily basis.
        weights: Weights of the filter, ``[hops + 1, 1]`` or ``[hops + 1, channels]``.
    """
    coefficients = Uni(tau, homophily).coefficients(tridiagonal) * tridiagonal.reached
    frequencies = tridiagonal.frequencies(coefficients)
    on_vectors = (coefficients * weights[:, None]).sum(dim=0)
    polynomials = tridiagonal.orthonormal_polynomials(torch.from_numpy(GRID))
    responses = torch.einsum("ilc,ic->lc", polynomials, on_vectors) / tridiagonal.norm
    low, middle, high = weighted_quartiles(responses.numpy(), possible_energy(polynomials).numpy())
    return Curves(
        frequencies.mean(dim=1).numpy(),
        frequencies.std(dim=1, correction=0).numpy(),
        _angles(coefficients).numpy(),
        middle,
        low,
        high,
    )


def response_axis(curves: Curves, span: tuple[float, float]) -> tuple[float, float]:
    """Range of the gain axis of a chart: 0, and the curves between two eigenvalues.

    Args:
        curves: The curves.
        span: Range of eigenvalues with almost all energy of the features. Outside, the curves have no meaning and can
            be arbitrarily large.
    """
    return gain_axis(span, GRID, curves.response_low, curves.response_high)


def _angles(coefficients: Tensor) -> Tensor:
    length = torch.linalg.vector_norm(coefficients, dim=1)
    unit = coefficients / torch.where(length > 0, length, 1.0)[:, None]
    cosine = torch.einsum("kic,jic->kjc", unit, unit).clamp(-1, 1)
    angles = torch.rad2deg(torch.arccos(cosine)).mean(dim=2)
    # The arc cosine of 1 - rounding error would give 1e-6 instead of 0.
    return angles.fill_diagonal_(0.0)
