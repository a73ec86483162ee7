"""Basis families. To add one, write its file and name it in the table below."""

from __future__ import annotations

import inspect
from typing import Any

from unifilter.bases.base import Basis, PolynomialBasis
from unifilter.bases.bernstein import Bernstein
from unifilter.bases.change import to_chebyshev
from unifilter.bases.chebyshev import Chebyshev
from unifilter.bases.chebyshev_interpolation import ChebyshevInterpolation
from unifilter.bases.even import Even
from unifilter.bases.heterophily import Heterophily
from unifilter.bases.jacobi import Jacobi
from unifilter.bases.legendre import Legendre
from unifilter.bases.monomial import Monomial
from unifilter.bases.orthonormal import Orthonormal
from unifilter.bases.tridiagonal import Tridiagonal
from unifilter.bases.uni import Uni

BASES: dict[str, type[Basis]] = {
    "homophily": Monomial,
    "monomial": Monomial,
    "heterophily": Heterophily,
    "orthonormal": Orthonormal,
    "uni": Uni,
    "even": Even,
    "chebyshev": Chebyshev,
    "chebyshev_interpolation": ChebyshevInterpolation,
    "bernstein": Bernstein,
    "jacobi": Jacobi,
    "legendre": Legendre,
}


def make_basis(basis: str | Basis | type[Basis], **parameters: Any) -> Basis:
    """A basis from its name, its class or itself.

    Example:
        >>> from unifilter.bases import make_basis
        >>> make_basis("uni", tau=0.7, homophily=0.23)
        Uni(tau=0.7, homophily=0.23, formulation='paper')
    """
    if isinstance(basis, Basis):
        if parameters:
            raise ValueError(f"{basis!r} is already built: pass {', '.join(parameters)} when you build it")
        return basis
    if isinstance(basis, str):
        if basis not in BASES:
            raise ValueError(f"there is no basis {basis!r}: choose one of {', '.join(sorted(BASES))}")
        family = BASES[basis]
    elif isinstance(basis, type) and issubclass(basis, Basis):
        family = basis
    else:
        raise ValueError(f"a basis is a name, a Basis or a Basis class, not {type(basis).__name__}")
    try:
        inspect.signature(family).bind(**parameters)
    except TypeError as error:
        needs = ", ".join(inspect.signature(family).parameters) or "nothing"
        raise ValueError(f"the basis {family.__name__} takes {needs}: {error}") from None
    return family(**parameters)


__all__ = [
    "BASES",
    "Basis",
    "Bernstein",
    "Chebyshev",
    "ChebyshevInterpolation",
    "Even",
    "Heterophily",
    "Jacobi",
    "Legendre",
    "Monomial",
    "Orthonormal",
    "PolynomialBasis",
    "Tridiagonal",
    "Uni",
    "make_basis",
    "to_chebyshev",
]
