"""A single response curve for a learned filter of any method: its effect on a typical channel at each eigenvalue."""

from __future__ import annotations

import numpy as np
import torch

from unifilter.estimators import TrainedModel
from unifilter.factorization.typical import possible_energy, weighted_quartiles, with_signal


def typical_response(model: TrainedModel, lam: np.ndarray, *, by_energy: bool = False) -> np.ndarray | None:
    """Median response over channels; ``None`` for a method that learns no filter.

    Args:
        model: The trained model.
        lam: Laplacian eigenvalues.
        by_energy: See :func:`response_quartiles`.
    """
    quartiles = response_quartiles(model, lam, by_energy=by_energy)
    return None if quartiles is None else quartiles[1]


def response_quartiles(model: TrainedModel, lam: np.ndarray, *, by_energy: bool = False) -> np.ndarray | None:
    """Quartiles of the response over channels, ``[3, len(lam)]``; ``None`` for a method that learns no filter.

    Channels of the features are weighted at each eigenvalue by the share of their energy that can be there, because
    their polynomials can be large where they have none (:func:`unifilter.factorization.typical.possible_energy`).
    Channels of hidden layers and of classes have equal weights.

    Args:
        model: The trained model.
        lam: Laplacian eigenvalues.
        by_energy: Weight channels by energy instead of the share of their own energy. Basis vectors of unit length make
            the gain of a faint channel large; the result is then the effect of the filter on most of the signal.
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
