"""Summaries over channels with separate polynomials."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from unifilter.bases import Tridiagonal

# Tolerance, so that two equal weights give one half in any order of summation.
_SHARE_ROUNDING = 1e-9


def possible_energy(polynomials: Tensor) -> Tensor:
    r"""The largest share of a signal's energy that can be at an eigenvalue, given its tridiagonal.

    This is the Christoffel function :math:`1 / \sum_k \pi_k(\lambda)^2`: no measure with the same moments has more at
    :math:`\lambda`, and the Gauss quadrature has exactly this at its points.

    Args:
        polynomials: ``[hops + 1, ..., channels]``, from
            :meth:`unifilter.bases.Tridiagonal.orthonormal_polynomials`.
    """
    return 1 / (polynomials**2).sum(dim=0)


def weighted_quartiles(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Quartiles of each row, ``[3, rows]``: the smallest value with at least this share of the weight at or below it.

    Without interpolation, the order of values that are equal up to rounding does not matter: at tau 1 all channels
    have the same response and different weights.
    """
    order = np.argsort(values, axis=1)
    ascending, weight = (np.take_along_axis(one, order, axis=1) for one in (values, weights))
    below = weight.cumsum(axis=1)
    places = [(below < (share - _SHARE_ROUNDING) * below[:, -1:]).sum(axis=1) for share in (0.25, 0.5, 0.75)]
    return np.stack([np.take_along_axis(ascending, place[:, None], axis=1)[:, 0] for place in places])


def with_signal(tridiagonal: Tridiagonal) -> tuple[Tridiagonal, Tensor]:
    """The non-zero channels, in double precision on the CPU, and their indices."""
    kept = (tridiagonal.dimension > 0).nonzero().flatten()
    if len(kept) == 0:
        raise ValueError("all feature columns are zero, so there is no signal to explain: pass other features")
    return tridiagonal.select(kept).to("cpu", torch.float64), kept.cpu()
