"""One curve for a learned filter, whatever the method: what it does to a typical channel at each eigenvalue."""

from __future__ import annotations

import numpy as np
import torch

from unifilter.estimators import TrainedModel
from unifilter.factorization.typical import possible_energy, weighted_quartiles, with_signal


def typical_response(model: TrainedModel, lam: np.ndarray, *, by_energy: bool = False) -> np.ndarray | None:
    """The median over channels; ``None`` for a method that learns no filter.

    Args:
        model: What was trained.
        lam: Laplacian eigenvalues.
        by_energy: See :func:`response_quartiles`.
    """
    quartiles = response_quartiles(model, lam, by_energy=by_energy)
    return None if quartiles is None else quartiles[1]


def response_quartiles(model: TrainedModel, lam: np.ndarray, *, by_energy: bool = False) -> np.ndarray | None:
    """The quartiles over channels, ``[3, len(lam)]``; ``None`` for a method that learns no filter.

    A channel of the features counts as much as the share of its energy that can be at an eigenvalue, since its
    polynomials can be large where it has none (:func:`unifilter.factorization.typical.possible_energy`); channels of
    hidden layers and of classes count alike.

    Args:
        model: What was trained.
        lam: Laplacian eigenvalues.
        by_energy: Let a channel count as much as the energy it can have there, not the share of its own. Vectors of a
            basis of unit length make the gain of a faint channel large; this is what the filter does to most of the
            signal.
    """
    response = model.response(lam)
    if response is None:
        return None
    values = response.double()
    weights = torch.ones_like(values)
    if model.tridiagonal is not None:
        signals, kept = with_signal(model.tridiagonal)
        weights = possible_energy(signals.orthonormal_polynomials(torch.from_numpy(lam)))
        weights = weights * signals.norm**2 if by_energy else weights
        values = values[:, kept]
    return weighted_quartiles(values.numpy(), weights.numpy())
