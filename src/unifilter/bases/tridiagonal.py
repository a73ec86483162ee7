"""The tridiagonal matrices of a factorization, from which bases and explanations are computed without its vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from unifilter._internal.scaling import power_of_two


@dataclass(frozen=True, repr=False)
class Tridiagonal:
    r"""The symmetric tridiagonal :math:`\mathbf{T}` of each channel, with
    :math:`\mathbf{P}\mathbf{V} = \mathbf{V}\mathbf{T}` on the first ``hops`` columns.

    Attributes:
        alpha: Diagonal, ``[hops + 1, channels]``.
        beta: Off-diagonal, ``[hops, channels]``; zero from the hop at which the Krylov space of a channel is exhausted.
        norm: Euclidean norm of each signal, ``[channels]``.
        dimension: Number of independent vectors each signal spans, at most ``hops + 1``; 0 for a zero signal.
    """

    alpha: Tensor
    beta: Tensor
    norm: Tensor
    dimension: Tensor

    def __repr__(self) -> str:
        return f"{type(self).__name__}(hops={self.hops}, channels={self.channels}, dtype={self.alpha.dtype})"

    @property
    def hops(self) -> int:
        return self.beta.shape[0]

    @property
    def channels(self) -> int:
        return self.alpha.shape[1]

    @property
    def reached(self) -> Tensor:
        """Which vectors exist, bool ``[hops + 1, channels]``; the others are zero."""
        return torch.arange(self.hops + 1, device=self.alpha.device)[:, None] < self.dimension

    def to(self, *where: Any) -> Tridiagonal:
        """Convert to another precision or device, with the arguments of :meth:`torch.Tensor.to`."""
        alpha, beta, norm = (value.to(*where) for value in (self.alpha, self.beta, self.norm))
        return Tridiagonal(alpha, beta, norm, self.dimension.to(alpha.device))

    def select(self, channels: Any) -> Tridiagonal:
        """Select channels by indices, a mask or a slice."""
        return Tridiagonal(
            self.alpha[:, channels], self.beta[:, channels], self.norm[channels], self.dimension[channels]
        )

    def truncate(self, hops: int) -> Tridiagonal:
        """The tridiagonal of a factorization with fewer hops."""
        if not 1 <= hops <= self.hops:
            raise ValueError(f"hops must be from 1 to {self.hops}, the hops of this factorization, not {hops!r}")
        return Tridiagonal(self.alpha[: hops + 1], self.beta[:hops], self.norm, self.dimension.clamp(max=hops + 1))

    def first(self) -> Tensor:
        """Coordinates of the normalized signal, ``[hops + 1, channels]``: the first unit vector."""
        start = torch.zeros_like(self.alpha)
        start[0] = self.reached[0].to(start.dtype)
        return start

    def multiply(self, y: Tensor) -> Tensor:
        r""":math:`\mathbf{T} y` for coordinates ``y`` of shape ``[..., hops + 1, channels]``."""
        product = self.alpha * y
        product[..., 1:, :] += self.beta * y[..., :-1, :]
        product[..., :-1, :] += self.beta * y[..., 1:, :]
        return product

    def dense(self) -> Tensor:
        """The dense matrices, ``[channels, hops + 1, hops + 1]``."""
        return (
            torch.diag_embed(self.alpha.T)
            + torch.diag_embed(self.beta.T, offset=1)
            + torch.diag_embed(self.beta.T, offset=-1)
        )

    def orthonormal_polynomials(self, lam: Tensor) -> Tensor:
        r"""The polynomials with :math:`v_k = \pi_k(\mathbf{P})\, x / \|x\|`, at Laplacian eigenvalues ``lam``.

        Returns ``[hops + 1, *lam.shape, channels]``; zero beyond the reached dimension.
        """
        mu = 1 - lam.to(self.alpha.dtype)[..., None]
        start = torch.ones_like(mu) * self.reached[0]
        return torch.stack(list(self.sequence(lambda y: mu * y, start)))

    def sequence(self, multiply: Callable[[Tensor], Tensor], start: Tensor) -> Iterator[Tensor]:
        r"""Yield :math:`\pi_0(\mathbf{P}) y, \dots, \pi_K(\mathbf{P}) y` by the three-term recurrence.

        Args:
            multiply: The product with :math:`\mathbf{P}`, or with a number in its place.
            start: The vectors to apply the polynomials to, ``[..., channels]``. For the signals divided by their norm
                the result is the Lanczos vectors.
        """
        previous, current = torch.zeros_like(start), start
        yield current
        for k in range(self.hops):
            following = multiply(current) - self.alpha[k] * current
            if k > 0:
                following = following - self.beta[k - 1] * previous
            # Beyond the reached dimension beta is zero, and so is the vector: the quotient is not used.
            previous, current = current, torch.where(self.beta[k] > 0, following / self.beta[k], 0.0)
            yield current

    def frequencies(self, coefficients: Tensor) -> Tensor:
        r"""Frequencies (Definition 2.2) of vectors given by their coordinates ``[m, hops + 1, channels]``.

        For :math:`b = \mathbf{V} m`, :math:`b^\top \mathbf{L} b = \|m\|^2 - m^\top \mathbf{T} m`. Returns
        ``[m, channels]`` in [0, 1]; a zero vector has frequency 0.
        """
        coordinates = coefficients * self.reached
        # Frequencies do not depend on the scale. Values near 1 keep the squares in range.
        coordinates = coordinates / power_of_two(coordinates.detach().abs().amax(dim=-2, keepdim=True))
        energy = (coordinates**2).sum(dim=-2)
        kept = (coordinates * self.multiply(coordinates)).sum(dim=-2)
        # Rounding can exceed the bounds of Proposition 2.3 by an ulp.
        return torch.where(energy > 0, (energy - kept) / (2 * energy), 0.0).clamp(0, 1)
