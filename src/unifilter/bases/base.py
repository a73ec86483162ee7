"""What a basis is: small matrices on a tridiagonal, and functions of the graph's frequencies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from unifilter.tridiagonal import Tridiagonal

Multiply = Callable[[Tensor], Tensor]


class Basis(ABC):
    """A family of ``hops + 1`` vectors in the span of ``x, P x, ..., P^hops x``."""

    @abstractmethod
    def coefficients(self, tridiagonal: Tridiagonal) -> Tensor:
        """The matrix ``M`` of each channel, ``[hops + 1, hops + 1, channels]``: basis vector k is ``V @ M[k]``."""

    def evaluate(self, lam: Tensor, tridiagonal: Tridiagonal | None = None, hops: int | None = None) -> Tensor:
        """The function of the Laplacian eigenvalue that makes each basis vector out of the signal.

        Args:
            lam: Laplacian eigenvalues in [0, 2], any shape.
            tridiagonal: The signal's tridiagonal (``fact.tridiagonal``); bases that adapt to the signal need it.
            hops: Degree up to which a fixed polynomial family is evaluated; by default the tridiagonal's.

        Returns:
            ``[hops + 1, *lam.shape, channels]``, or ``[hops + 1, *lam.shape]`` for a fixed polynomial family.
        """
        if tridiagonal is None:
            raise ValueError(
                f"{type(self).__name__} adapts to the signal, so it has no values without one: "
                "pass the tridiagonal of a factorisation, evaluate(lam, fact.tridiagonal)"
            )
        polynomials = tridiagonal.orthonormal_polynomials(lam)
        values = torch.einsum("kic,i...c->k...c", self.coefficients(tridiagonal), polynomials)
        return torch.where(tridiagonal.norm > 0, values / tridiagonal.norm, 0.0)

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({parameters})"


class PolynomialBasis(Basis):
    r"""A fixed polynomial family :math:`p_0(\mathbf{P})x, \dots, p_K(\mathbf{P})x`.

    A subclass defines :meth:`sequence`, and nothing else.
    """

    @abstractmethod
    def sequence(self, multiply: Multiply, start: Tensor, hops: int) -> Iterator[Tensor]:
        """Yield ``p_0(P) start, p_1(P) start, ..., p_hops(P) start``, where ``multiply(y)`` is ``P y``.

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
        return torch.stack(list(self.sequence(lambda y: (1 - lam) * y, torch.ones_like(lam), hops)))
