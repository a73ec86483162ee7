"""What a trained model says about its basis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unifilter.bases import Basis, make_basis


def universal_parameters(settings: Mapping[str, Any], tau: Any, homophily: float | None) -> tuple[float, float]:
    """Tau and homophily at which the universal basis is the one that was trained on.

    The homophily basis is the universal one at tau 1, the heterophily basis at tau 0, and the orthonormal basis at tau
    0 and homophily 0.

    Args:
        settings: Of the method; ``basis`` and ``formulation`` matter.
        tau: What was used or learned, where the basis has it; ``None`` is the homophily.
        homophily: The same.
    """
    basis = settings.get("basis")
    if basis in ("uni", "heterophily") and settings.get("formulation", "paper") != "paper":
        raise ValueError(
            "this model was trained with formulation='released', whose basis is not the paper's: "
            "explain one with formulation='paper'"
        )
    if basis in ("homophily", "monomial"):
        return 1.0, 0.0 if homophily is None else homophily
    if basis == "orthonormal":
        return 0.0, 0.0
    if basis == "heterophily" and homophily is not None:
        return 0.0, homophily
    if basis == "uni" and homophily is not None and not isinstance(tau, str):
        return homophily if tau is None else float(tau), homophily
    raise ValueError(
        f"weights on the basis {basis!r} cannot be shown on the universal basis: "
        "explain a model on the basis 'uni', 'homophily', 'heterophily' or 'orthonormal'"
    )


def trained_basis(settings: Mapping[str, Any], tau: float | None, homophily: float | None) -> Basis:
    """The basis itself, whichever it was."""
    basis, formulation = settings["basis"], settings["formulation"]
    if basis == "uni":
        return make_basis("uni", tau=tau, homophily=homophily, formulation=formulation)
    if basis == "heterophily":
        return make_basis("heterophily", homophily=homophily, formulation=formulation)
    return make_basis(basis)
