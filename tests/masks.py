"""What a dropout mask must look like: independent draws, as far as five standard deviations can tell."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def check_share(kept: Tensor, p: float) -> None:
    """The share of ones is 1 - p, overall and, as a sum of squares, over every row and every column."""
    rows, columns = kept.shape
    assert abs(int(kept.sum()) - kept.numel() * (1 - p)) < 5 * math.sqrt(kept.numel() * p * (1 - p))
    for dim, draws, groups in ((0, rows, columns), (1, columns, rows)):
        scatter = (kept.sum(dim=dim) - draws * (1 - p)) ** 2 / (draws * p * (1 - p))
        # Sums of independent draws scatter as chi-square, with a mean of `groups` and a variance of 2 * groups.
        assert abs(float(scatter.sum()) - groups) < 5 * math.sqrt(2 * groups)


def check_unrelated(left: Tensor, right: Tensor) -> None:
    """Two masks, or a mask and a shifted copy of it, have no correlation beyond chance."""
    pair = torch.stack([left.double().flatten(), right.double().flatten()])
    assert abs(float(torch.corrcoef(pair)[0, 1])) < 5 / math.sqrt(left.numel())
