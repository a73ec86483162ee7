"""What a basis is: small matrices on a tridiagonal, and functions of the graph's frequencies."""

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

    Their number m is ``hops + 1`` unless the basis says otherwise.
    """

    @abstractmethod
    def coefficients(self, tridiagonal: Tridiagonal) -> Tensor:
        """The matrix ``M`` of each channel, ``[m, hops + 1, channels]``: basis vector k is ``V @ M[k]``."""

    def evaluate(self, lam: Tensor, tridiagonal: Tridiagonal | None = None, hops: int | None = None) -> Tensor:
        """The function of the Laplacian eigenvalue that makes each basis vector out of the signal.

        Args:
            lam: Laplacian eigenvalues in [0, 2], any shape.
            tridiagonal: The signal's tridiagonal (``fact.tridiagonal``); bases that adapt to the signal need it.
            hops: Degree up to which a fixed polynomial family is evaluated; by default the tridiagonal's.

        Returns:
            ``[m, *lam.shape, channels]``, or ``[m, *lam.shape]`` for a fixed polynomial family.
        """
        if tridiagonal is None:
            raise ValueError(
                f"{type(self).__name__} adapts to the signal, so it has no values without one: "
                "pass the tridiagonal of a factorization, evaluate(lam, fact.tridiagonal)"
            )
        polynomials = tridiagonal.orthonormal_polynomials(lam)
        values = torch.einsum("kic,i...c->k...c", self.coefficients(tridiagonal), polynomials)
        return torch.where(tridiagonal.norm > 0, values / tridiagonal.norm, 0.0)

    def identity_weights(self, hops: int) -> Tensor:
        """Weights ``[m]`` whose filter is the identity: the weighted sum of the basis is the signal itself.

        A model that starts from them starts from its features as they are. A basis has such weights where they do not
        depend on the signal; the others raise a ``ValueError``.
        """
        raise ValueError(
            f"{self!r} adapts to the signal, so no fixed weights give every signal back: "
            "choose initial weights yourself, or take a fixed polynomial family"
        )

    def to_dict(self) -> dict[str, Any]:
        """Its registered name and parameters, from which :func:`unifilter.bases.basis_from_dict` makes it again."""
        from unifilter.bases import basis_to_dict  # which knows every basis, and so comes after this file

        return basis_to_dict(self)

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({parameters})"


class PolynomialBasis(Basis):
    r"""A fixed polynomial family :math:`p_0(\mathbf{P})x, \dots, p_K(\mathbf{P})x`.

    A subclass defines :meth:`sequence`, and nothing else unless its :math:`p_0` is not 1 (see
    :meth:`identity_weights`).
    """

    @abstractmethod
    def sequence(self, multiply: Multiply, start: Tensor, hops: int) -> Iterator[Tensor]:
        """Yield ``p_0(P) start, p_1(P) start, ...``, where ``multiply(y)`` is ``P y``; no degree is above ``hops``.

        The same few lines serve tridiagonals, eigenvalues and whole signals, so use nothing but ``multiply``,
        sums and scalar factors.
        """

    def coefficients(self, tridiagonal: Tridiagonal) -> Tensor:
        steps = self.sequence(tridiagonal.multiply, tridiagonal.first(), tridiagonal.hops)
        return tridiagonal.norm * torch.stack(list(steps))

    def evaluate(self, lam: Tensor, tridiagonal: Tridiagonal | None = None, hops: int | None = None) -> Tensor:
        if hops is None:
            if tridiagonal is None:
                raise ValueError("say up to which degree: evaluate(lam, hops=10), or pass a tridiagonal")
            hops = tridiagonal.hops
        if not lam.is_floating_point():
            lam = lam.to(torch.get_default_dtype())
        return torch.stack(list(self.sequence(lambda y: (1 - lam) * y, torch.ones_like(lam), check_hops(hops))))

    def identity_weights(self, hops: int) -> Tensor:
        """1 on the constant :math:`p_0` and 0 on the others; a family with another :math:`p_0` overrides this."""
        # A polynomial of degree up to hops that is 1 at hops + 1 places is 1 everywhere.
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
