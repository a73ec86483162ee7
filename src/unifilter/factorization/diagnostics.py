"""The accuracy of a factorization."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from unifilter.bases import Heterophily, Tridiagonal


@dataclass(frozen=True, repr=False)
class Diagnostics:
    """Accuracy of a factorization.

    Attributes:
        orthogonality_loss: Largest entry of ``|V^T V - I|`` over the reached vectors, ``[channels]``.
        angle_error: Largest deviation of an inner product of the heterophily basis from Theorem 4.3, ``[channels]``.
        dimension: Reached dimension, ``[channels]``.
        hops: Number of hops.
    """

    orthogonality_loss: Tensor
    angle_error: Tensor
    dimension: Tensor
    hops: int

    @classmethod
    def from_gram(cls, gram: Tensor, tridiagonal: Tridiagonal, homophily: float) -> Diagnostics:
        """Diagnostics from inner products.

        Args:
            gram: Inner products of the vectors of each channel, float64 ``[channels, hops + 1, hops + 1]``.
            tridiagonal: Tridiagonals of the channels.
            homophily: Homophily at which the angles of the heterophily basis are compared with Theorem 4.3.
        """
        rows = Heterophily(homophily).coefficients(tridiagonal)
        reached = tridiagonal.reached.T
        loss = gram - torch.diag_embed(reached.double())
        # Rows of unreached vectors have no angle, and so no error.
        mixing = rows.permute(2, 0, 1).double() * reached[:, :, None]
        return cls(
            loss.abs().amax(dim=(1, 2)),
            (mixing @ loss @ mixing.transpose(1, 2)).abs().amax(dim=(1, 2)),
            tridiagonal.dimension,
            tridiagonal.hops,
        )

    @property
    def broken_down(self) -> Tensor:
        """Indices of non-zero channels that span fewer than ``hops + 1`` dimensions."""
        return ((self.dimension > 0) & (self.dimension <= self.hops)).nonzero().flatten()

    @property
    def zero_columns(self) -> Tensor:
        """Indices of channels without any signal."""
        return (self.dimension == 0).nonzero().flatten()

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(orthogonality_loss={self.orthogonality_loss.max():.1e}, "
            f"angle_error={self.angle_error.max():.1e}, broken_down={len(self.broken_down)}, "
            f"zero_columns={len(self.zero_columns)}, channels={len(self.dimension)})"
        )
