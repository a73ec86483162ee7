"""One curve for a learned filter, whatever the method: what it does to a typical channel at each eigenvalue."""

from __future__ import annotations

import numpy as np
import torch

from unifilter.explanation.curves import possible_energy, weighted_quartiles, with_signal
from unifilter.methods import Fitted, Workspace


def typical_response(fitted: Fitted, workspace: Workspace, lam: np.ndarray) -> np.ndarray | None:
    """The median over channels; ``None`` for a method that learns no filter.

    A channel of the features counts as much as the energy it can have at an eigenvalue, since its polynomials can be
    large where it has none (:func:`unifilter.explanation.curves.possible_energy`); channels of hidden layers and of
    classes count alike.

    Args:
        fitted: What was trained.
        workspace: Where.
        lam: Laplacian eigenvalues.
    """
    learner, settings = fitted.learner, fitted.method.settings()
    if learner.response is None:
        return None
    with torch.no_grad():
        values = learner.response(torch.from_numpy(lam).float()).double()
    weights = torch.ones_like(values)
    if learner.lanczos_weights is not None:
        fact = workspace.factorization(settings["features"], settings["hops"], settings["self_loops"])
        signals, kept = with_signal(fact.tridiagonal)
        weights = possible_energy(signals.orthonormal_polynomials(torch.from_numpy(lam)))
        values = values[:, kept]
    return np.asarray(weighted_quartiles(values.numpy(), weights.numpy())[1])
