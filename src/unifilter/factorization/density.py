"""The distribution of a signal's energy over graph frequencies, without an eigendecomposition of the graph."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from unifilter._internal.type_aliases import FeatureLike
from unifilter.bases import Tridiagonal
from unifilter.factorization.tridiagonals import tridiagonals
from unifilter.graph import Graph


@dataclass(frozen=True)
class SpectralDensity:
    r"""The Gauss quadrature of each signal's spectral measure.

    Attributes:
        lam: Quadrature points, Laplacian eigenvalues in [0, 2], ``[hops + 1, channels]``, ascending.
        energy: Share of the energy at each point, ``[hops + 1, channels]``; sums to 1, or to 0 for a zero signal.
    """

    lam: Tensor
    energy: Tensor

    def moment(self, k: int) -> Tensor:
        r""":math:`x^\top \mathbf{P}^k x / \|x\|^2` of each channel; exact up to ``k = 2 hops + 1``."""
        return (self.energy * (1 - self.lam) ** k).sum(dim=0)


def density_of(tridiagonal: Tridiagonal) -> SpectralDensity:
    """Eigenvalues of the tridiagonal, weighted by the squared first entries of its eigenvectors."""
    # Unreached dimensions decouple from the signal: they have separate eigenvalues, and no energy.
    values, directions = torch.linalg.eigh(tridiagonal.dense())
    energy = directions[:, 0, :] ** 2 * (tridiagonal.dimension > 0)[:, None]
    return SpectralDensity((1 - values).flip(-1).clamp(0, 2).T, energy.flip(-1).T)


def spectral_density(graph: Graph, x: FeatureLike, hops: int = 20) -> SpectralDensity:
    r"""The distribution of each signal's energy over the graph's frequencies.

    ``hops`` Lanczos steps give the ``hops + 1`` points and weights that reproduce the moments
    :math:`x^\top \mathbf{P}^k x` up to order ``2 hops + 1``. If you have a
    factorization, use :func:`density_of` on ``fact.tridiagonal``.

    Example:
        >>> import torch
        >>> from unifilter import Graph, spectral_density
        >>> edge = Graph.from_edges(torch.tensor([[0], [1]]))
        >>> density = spectral_density(edge, torch.tensor([[1.0], [0.0]]), hops=1)
        >>> density.lam.flatten(), density.energy.flatten()
        (tensor([0., 2.]), tensor([0.5000, 0.5000]))
    """
    return density_of(tridiagonals(graph, x, hops))
