"""Base classes of bases: small coefficient matrices on a tridiagonal, and functions of graph frequencies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from unifilter._internal.checks import check_hops
from unifilter.bases.tridiagonal import Tridiagonal

Multiply = Callable[[Tensor], Tensor]


class Basis(ABC):
    """A family of vectors in the span of ``x, P x, ..., P^hops x``.

    The number m of vectors is ``hops + 1`` unless the basis documents another number.
    """

    @abstractmethod
    def coefficients(self, tridiagonal: Tridiagonal) -> Tensor:
        """Coefficient matrix ``M`` of each channel, ``[m, hops + 1, channels]``: basis vector k is ``V @ M[k]``."""

    def evaluate(self, lam: Tensor, tridiagonal: Tridiagonal | None = None, hops: int | None = None) -> Tensor:
        """The function of the Laplacian eigenvalue that maps the signal to each basis vector.

        Args:
            lam: Laplacian eigenvalues in [0, 2], any shape.
            tridiagonal: The signal's tridiagonal (``fact.tridiagonal``); bases that adapt to the signal need it.
            hops: Degree of a fixed polynomial family. Default: that of the tridiagonal.

        Returns:
            ``[m, *lam.shape, channels]``, or ``[m, *lam.shape]`` for a fixed polynomial family.
        """
        if tridiagonal is None:
            raise ValueError(
                f"{type(self).__name__} adapts to the signal, so it cannot be evaluated without one: "
                "pass the tridiagonal of a factorization, evaluate(lam, fact.tridiagonal)"
            )
        polynomials = tridiagonal.orthonormal_polynomials(lam)
        values = torch.einsum("kic,i...c->k...c", self.coefficients(tridiagonal), polynomials)
        return torch.where(tridiagonal.norm > 0, values / tridiagonal.norm, 0.0)

    def identity_weights(self, hops: int) -> Tensor:
        """Weights ``[m]`` of the identity filter: the weighted sum of the basis vectors is the signal itself.

        A model initialized with these weights starts from its unfiltered features. Only bases whose weights do not
        depend on the signal have them; the others raise a ``ValueError``.
        """
        raise ValueError(
            f"{self!r} adapts to the signal, so no fixed weights reproduce every signal: "
            "choose initial weights yourself, or use a fixed polynomial family"
        )

    def to_dict(self) -> dict[str, Any]:
        """The registered name and parameters, for :func:`unifilter.bases.basis_from_dict`."""
        from unifilter.bases import basis_to_dict  # imported here because it imports this module

        return basis_to_dict(self)

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({parameters})"


class PolynomialBasis(Basis):
    r"""A fixed polynomial family :math:`p_0(\mathbf{P})x, \dots, p_K(\mathbf{P})x`.

    A subclass defines :meth:`sequence`, and also :meth:`identity_weights` if its :math:`p_0` is not 1.
    """

    @abstractmethod
    def sequence(self, multiply: Multiply, start: Tensor, hops: int) -> Iterator[Tensor]:
        """Yield ``p_0(P) start, p_1(P) start, ...``, where ``multiply(y)`` is ``P y``. No degree exceeds ``hops``.

        The same code is applied to tridiagonals, eigenvalues and whole signals, so use only ``multiply``, sums and
        scalar factors.
        """

    def coefficients(self, tridiagonal: Tridiagonal) -> Tensor:
        steps = self.sequence(tridiagonal.multiply, tridiagonal.first(), tridiagonal.hops)
        return tridiagonal.norm * torch.stack(list(steps))

    def evaluate(self, lam: Tensor, tridiagonal: Tridiagonal | None = None, hops: int | None = None) -> Tensor:
        if hops is None:
            if tridiagonal is None:
                raise ValueError("the degree is missing: pass hops, evaluate(lam, hops=10), or a tridiagonal")
            hops = tridiagonal.hops
        if not lam.is_floating_point():
            lam = lam.to(torch.get_default_dtype())
        return torch.stack(list(self.sequence(lambda y: (1 - lam) * y, torch.ones_like(lam), check_hops(hops))))

    def identity_weights(self, hops: int) -> Tensor:
        """1 for the constant :math:`p_0` and 0 for the others. A family with another :math:`p_0` overrides this."""
        # A polynomial of degree up to hops that is 1 at hops + 1 points is the constant 1.
        lam = torch.linspace(0, 2, check_hops(hops) + 1, dtype=torch.float64)
        values = self.evaluate(lam, hops=hops)
        if not torch.allclose(values[0], torch.ones_like(lam)):
            raise ValueError(
                f"{self!r} does not start with the constant 1, so the first vector is not the signal: "
                f"define {type(self).__name__}.identity_weights"
            )
        weights = torch.zeros(len(values))
        weights[0] = 1
        return weights
