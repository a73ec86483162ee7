"""Coefficients of the authors' published code, where it departs from the paper."""

from __future__ import annotations

import torch
from torch import Tensor

from unifilter._internal.scaling import power_of_two
from unifilter.bases.monomial import Monomial
from unifilter.bases.tridiagonal import Tridiagonal

# Its square is finite in single precision, and its rounding error is far above 1 in single and double precision.
_LARGE = 1e15


def released_coefficients(tridiagonal: Tridiagonal, tau: float, homophily: float) -> Tensor:
    r"""UniBasis as published: the root uses the previous *mixed* vector where the paper has :math:`u_{k-1}`.

    A negative argument of the root is replaced by 0, and hop 0 is the raw signal. All inner products are between
    vectors in the span of the Lanczos vectors, so coordinates suffice here as well.
    """
    if homophily == 0:
        raise ValueError(
            "the released formulation divides by cos(theta), which is 0 at homophily 0: "
            'use formulation="paper", or a homophily above 0'
        )
    cosine = torch.sin(tridiagonal.alpha.new_tensor(homophily * torch.pi / 2))
    powers = Monomial().coefficients(tridiagonal)
    unit = torch.eye(tridiagonal.hops + 1, dtype=powers.dtype, device=powers.device)[:, :, None] * tridiagonal.reached
    mixed = [powers[0]]
    total = unit[0]
    for k in range(1, tridiagonal.hops + 1):
        mean = total / k
        inner = (mean * mixed[-1]).sum(dim=0)
        share = (inner / cosine).abs()
        # Next to a large square the other terms are below its rounding error, and the root of a square is the number
        # itself.
        root = (share.clamp(max=_LARGE) ** 2 - ((k - 1) * cosine + 1) / k).clamp(min=0).sqrt()
        root = torch.where(share > _LARGE, share, root)
        direction = mean + root * unit[k]
        direction = direction / power_of_two(direction.abs().amax(dim=0))
        length = torch.linalg.vector_norm(direction, dim=0)
        rotated = torch.where(length > 0, direction / length, 0.0)
        total = total + rotated
        mixed.append(tau * powers[k] + (1 - tau) * rotated)
    return torch.stack(mixed)
