"""Exact scaling by powers of two."""

from __future__ import annotations

import torch
from torch import Tensor


def power_of_two(sizes: Tensor) -> Tensor:
    """The largest power of two that is at most each size, and 1 for zero. Division by it is exact."""
    sizes = sizes.detach()
    return torch.where(sizes > 0, sizes / (2 * torch.frexp(sizes).mantissa), 1.0)
