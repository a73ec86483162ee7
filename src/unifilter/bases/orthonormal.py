"""The orthonormal basis: the Lanczos vectors."""

from __future__ import annotations

import torch
from torch import Tensor

from unifilter.bases.base import Basis
from unifilter.bases.tridiagonal import Tridiagonal


class Orthonormal(Basis):
    r"""The Lanczos vectors: orthonormal, and the optimal basis for each signal.

    The basis of OptBasisGNN (Guo and Wei, "Graph Neural Networks with Learnable and Optimal Polynomial Bases",
    ICML 2023) and of the paper's OrtFilter.
    """

    def coefficients(self, tridiagonal: Tridiagonal) -> Tensor:
        identity = torch.eye(tridiagonal.hops + 1, dtype=tridiagonal.alpha.dtype, device=tridiagonal.alpha.device)
        return identity[:, :, None].repeat(1, 1, tridiagonal.channels)
