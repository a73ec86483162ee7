"""Standard deviations of feature columns."""

from __future__ import annotations

import torch
from torch import Tensor

# Rows per block, so that no second copy of a large matrix is made.
_BLOCK_ROWS = 4096


def column_deviations(features: Tensor) -> Tensor:
    """Standard deviation of each column over all nodes, float64; exactly 0 for constant columns.

    Args:
        features: ``[num_nodes, num_features]``, dense or CSR. CSR features are not made dense.
    """
    if features.layout == torch.strided:
        return _dense_deviations(features)
    return _sparse_deviations(features)


def _dense_deviations(features: Tensor) -> Tensor:
    rows = max(len(features), 1)
    blocks = [features[start : start + _BLOCK_ROWS] for start in range(0, rows, _BLOCK_ROWS)]
    mean = torch.stack([block.sum(dim=0, dtype=torch.float64) for block in blocks]).sum(dim=0) / rows
    # Deviations from the mean: a difference of large squares would lose a small deviation.
    squares = torch.stack([(block - mean).square().sum(dim=0) for block in blocks]).sum(dim=0)
    # The mean is rounded, so that a constant column would seem to vary slightly.
    constant = torch.stack([(block == features[:1]).all(dim=0) for block in blocks]).all(dim=0)
    return (squares / rows).sqrt().masked_fill(constant, 0.0)


def _sparse_deviations(features: Tensor) -> Tensor:
    rows, columns = features.shape
    column, value = features.col_indices(), features.values().double()
    zeros = torch.zeros(columns, dtype=torch.float64)
    mean = zeros.index_add(0, column, value) / max(rows, 1)
    unstored = rows - torch.bincount(column, minlength=columns)
    squares = zeros.index_add(0, column, (value - mean[column]).square()) + unstored * mean.square()
    # Entries that are not stored are zero.
    start = torch.where(unstored > 0, 0.0, torch.inf)
    lowest = start.double().scatter_reduce(0, column, value, "amin")
    highest = (-start).double().scatter_reduce(0, column, value, "amax")
    return (squares / max(rows, 1)).sqrt().masked_fill(lowest == highest, 0.0)
