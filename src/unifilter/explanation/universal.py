"""Relation of a trained basis to the universal basis."""

from __future__ import annotations

from unifilter.bases import Heterophily, Monomial, Orthonormal, Uni
from unifilter.estimators import TrainedModel


def universal_parameters(model: TrainedModel) -> tuple[float, float] | None:
    """Tau and homophily at which the universal basis equals that of a model, or ``None``.

    The homophily basis is the universal one at tau 1, the heterophily basis at tau 0, and the orthonormal basis at tau
    0 and homophily 0.
    """
    basis = model.basis
    if isinstance(basis, Monomial):
        return 1.0, model.homophily or 0.0
    if isinstance(basis, Orthonormal):
        return 0.0, 0.0
    if isinstance(basis, Heterophily) and basis.formulation == "paper":
        return 0.0, basis.homophily
    if isinstance(basis, Uni) and basis.formulation == "paper":
        return basis.tau, basis.homophily
    return None
