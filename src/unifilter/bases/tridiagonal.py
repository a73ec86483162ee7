"""What a factorisation knows without its vectors: the small matrices every basis and explanation is made of."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, repr=False)
class Tridiagonal:
    r"""The symmetric tridiagonal :math:`\mathbf{T}` of each channel, with
    :math:`\mathbf{P}\mathbf{V} = \mathbf{V}\mathbf{T}` on the first ``hops`` columns.

    Attributes:
        alpha: Diagonal, ``[hops + 1, channels]``.
        beta: Off-diagonal, ``[hops, channels]``; zero from the hop where a channel's space was exhausted.
        norm: Length of each signal, ``[channels]``.
        dimension: How many independent vectors each signal spans, at most ``hops + 1``; 0 for a zero signal.
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

    def first(self) -> Tensor:
        """Coordinates of the normalised signal, ``[hops + 1, channels]``: the first unit vector."""
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
        """The matrices in full, ``[channels, hops + 1, hops + 1]``."""
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
        reached = self.reached
        values = [torch.ones_like(mu) * reached[0]]
        for k in range(self.hops):
            following = (mu - self.alpha[k]) * values[k]
            if k > 0:
                following = following - self.beta[k - 1] * values[k - 1]
            # Beyond the reached dimension beta is zero and the polynomial is too: no division by it is looked at.
            values.append(torch.where(reached[k + 1], following / self.beta[k], 0.0))
        return torch.stack(values)

    def frequencies(self, coefficients: Tensor) -> Tensor:
        r"""Definition 2.2 for vectors given by their coordinates ``[m, hops + 1, channels]``, without any vector.

        For :math:`b = \mathbf{V} m`, :math:`b^\top \mathbf{L} b = \|m\|^2 - m^\top \mathbf{T} m`. Returns
        ``[m, channels]`` in [0, 1]; a zero vector has frequency 0.
        """
        coordinates = coefficients * self.reached
        energy = (coordinates**2).sum(dim=-2)
        kept = (coordinates * self.multiply(coordinates)).sum(dim=-2)
        # Rounding can step over the bounds of Proposition 2.3 by an ulp.
        return torch.where(energy > 0, (energy - kept) / (2 * energy), 0.0).clamp(0, 1)
