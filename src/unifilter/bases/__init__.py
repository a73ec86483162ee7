"""Polynomial bases. Built-in bases are listed in the table below; others are added with :func:`register_basis`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from unifilter._internal.registry import Registry
from unifilter.bases.base import Basis, PolynomialBasis
from unifilter.bases.bernstein import Bernstein
from unifilter.bases.change import to_chebyshev
from unifilter.bases.chebyshev import Chebyshev
from unifilter.bases.chebyshev_interpolation import ChebyshevInterpolation
from unifilter.bases.even import Even
from unifilter.bases.framelet import Framelet
from unifilter.bases.heterophily import Heterophily
from unifilter.bases.jacobi import Jacobi
from unifilter.bases.legendre import Legendre
from unifilter.bases.monomial import Monomial
from unifilter.bases.orthonormal import Orthonormal
from unifilter.bases.tridiagonal import Tridiagonal
from unifilter.bases.uni import Uni

BASES: Registry[type[Basis]] = Registry(
    "basis",
    "unifilter.bases",
    Basis,
    {
        "bernstein": Bernstein,
        "chebyshev": Chebyshev,
        "chebyshev_interpolation": ChebyshevInterpolation,
        "even": Even,
        "framelet": Framelet,
        "heterophily": Heterophily,
        "homophily": Monomial,
        "jacobi": Jacobi,
        "legendre": Legendre,
        "monomial": Monomial,
        "orthonormal": Orthonormal,
        "uni": Uni,
    },
)


def make_basis(basis: str | Basis | type[Basis], **parameters: Any) -> Basis:
    """Return a basis, given its name, its class or an instance.

    Example:
        >>> from unifilter.bases import make_basis
        >>> make_basis("uni", tau=0.7, homophily=0.23)
        Uni(tau=0.7, homophily=0.23, formulation='paper')
    """
    if isinstance(basis, Basis):
        if parameters:
            raise ValueError(f"{basis!r} is an instance: pass {', '.join(parameters)} when you create it")
        return basis
    if isinstance(basis, str):
        family = BASES.find(basis)
    elif isinstance(basis, type) and issubclass(basis, Basis):
        family = basis
    else:
        raise ValueError(f"a basis must be a name, a Basis or a Basis class, not {type(basis).__name__}")
    try:
        inspect.signature(family).bind(**parameters)
    except TypeError as error:
        needs = ", ".join(inspect.signature(family).parameters) or "nothing"
        raise ValueError(f"the basis {family.__name__} takes {needs}: {error}") from None
    return family(**parameters)


def register_basis(name: str, basis: type[Basis]) -> None:
    """Register your own basis by name, for estimators, model files, the command line and tuning.

    A package can also provide bases as entry points of the group ``unifilter.bases``.

    Example:
        >>> from unifilter.bases import Chebyshev, make_basis, register_basis
        >>> class Scaled(Chebyshev):
        ...     "Chebyshev polynomials under another name."
        >>> register_basis("scaled", Scaled)
        >>> make_basis("scaled")
        Scaled()
    """
    BASES.register(name, basis)


def basis_to_dict(basis: Basis) -> dict[str, Any]:
    """A basis as plain data: its registered name and its parameters, for :func:`basis_from_dict`."""
    family = type(basis)
    name = BASES.name_of(family)
    if name is None:
        raise ValueError(
            f"the basis {basis!r} cannot be stored, because its class has no registered name: register the class "
            f'first, register_basis("{family.__name__.lower()}", {family.__name__})'
        )
    parameters = {}
    for parameter in inspect.signature(family).parameters:
        if not hasattr(basis, parameter):
            raise ValueError(
                f"the basis {basis!r} cannot be stored: its __init__ takes {parameter!r} but sets no attribute of "
                f"that name; add self.{parameter} = {parameter}"
            )
        value = getattr(basis, parameter)
        value = value.item() if isinstance(value, np.generic) else value
        if value is not None and not isinstance(value, (bool, int, float, str)):
            raise ValueError(
                f"the basis {basis!r} cannot be stored: its parameter {parameter!r} is a {type(value).__name__}; "
                "use numbers, strings, booleans or None"
            )
        parameters[parameter] = value
    return {"name": name, "parameters": parameters}


def basis_from_dict(stored: Mapping[str, Any]) -> Basis:
    """Restore a basis from :func:`basis_to_dict`."""
    name = stored["name"]
    if name not in BASES:
        raise ValueError(
            f"there is no basis {name!r}: import the package that defines it, which should call "
            f'register_basis("{name}", ...), and load the model again'
        )
    return make_basis(name, **stored["parameters"])


__all__ = [
    "BASES",
    "Basis",
    "Bernstein",
    "Chebyshev",
    "ChebyshevInterpolation",
    "Even",
    "Framelet",
    "Heterophily",
    "Jacobi",
    "Legendre",
    "Monomial",
    "Orthonormal",
    "PolynomialBasis",
    "Tridiagonal",
    "Uni",
    "basis_from_dict",
    "basis_to_dict",
    "make_basis",
    "register_basis",
    "to_chebyshev",
]
