"""Sparse rows times dense matrices, and dropout on their entries: the first layer of a network on a bag of words."""

from __future__ import annotations

import torch
from torch import Tensor

from unifilter._internal.checks import without_torch_notices
from unifilter.kernels.backend import use_compiled
from unifilter.kernels.random_bits import are_kept, row_keys


def sparse_product(starts: Tensor, places: Tensor, values: Tensor, dense: Tensor) -> Tensor:
    """``rows @ dense`` for compressed rows; not differentiable.

    Args:
        starts: Where each row begins among the entries.
        places: The column of each entry.
        values: The value of each entry.
        dense: ``[columns, channels]``.
    """
    if use_compiled(values) and dense.dtype == values.dtype:
        from unifilter.kernels.compiled.sparse_product import multiply

        return multiply(starts, places, values, dense)
    with without_torch_notices():
        rows = torch.sparse_csr_tensor(
            starts, places, values.detach(), (len(starts) - 1, len(dense)), check_invariants=False
        )
        return rows @ dense.detach()


def drop_entries(starts: Tensor, places: Tensor, values: Tensor, p: float, seed: int) -> Tensor:
    """The values with dropout at a rate of ``p``; the mask is that of the dense matrix."""
    if use_compiled(values):
        from unifilter.kernels.compiled.sparse_product import drop

        return drop(starts, places, values, p, seed)
    rows = torch.repeat_interleave(torch.arange(len(starts) - 1, device=starts.device), starts.diff())
    return torch.where(are_kept(row_keys(seed, rows), places, p), values, 0.0) * (1 / (1 - p))
