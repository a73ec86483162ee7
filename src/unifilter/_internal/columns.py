"""Columns of a feature matrix, dense or sparse, as a dense block."""

from __future__ import annotations

import torch
from torch import Tensor


def dense_columns(matrix: Tensor, start: int, stop: int) -> Tensor:
    """Columns ``start`` to ``stop`` of a dense or CSC matrix; a view where the matrix is dense."""
    if matrix.layout == torch.strided:
        return matrix[:, start:stop]
    column_start = matrix.ccol_indices()[start : stop + 1]
    entries = slice(int(column_start[0]), int(column_start[-1]))
    column = torch.repeat_interleave(torch.arange(stop - start, device=matrix.device), column_start.diff())
    block = torch.zeros(matrix.shape[0], stop - start, dtype=matrix.dtype, device=matrix.device)
    # Duplicate entries are summed.
    return block.index_put_((matrix.row_indices()[entries], column), matrix.values()[entries], accumulate=True)
