"""The first layer of a model. For sparse features it processes only the stored entries."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unifilter.kernels.dropout import dropout
from unifilter.kernels.random_bits import draw_seed
from unifilter.nn.graph_module import Features
from unifilter.nn.sparse_rows import SparseRows


class InputLinear(nn.Linear):
    """:class:`torch.nn.Linear` with dropout on its input."""

    def forward(self, x: Features, rate: float = 0.0) -> Tensor:
        x = drop_features(x, rate)
        if not isinstance(x, SparseRows):
            return super().forward(x)
        product = x @ self.weight.T
        return product if self.bias is None else product + self.bias


def as_input(x: Features) -> Features:
    """Features for the first layer: a sparse tensor as :class:`SparseRows` on the CPU, dense on other devices."""
    if isinstance(x, SparseRows) or x.layout == torch.strided:
        return x
    rows = x if x.layout == torch.sparse_csr else x.to_sparse_csr()
    return SparseRows(rows) if x.device.type == "cpu" else x.to_dense()


def as_dense(x: Features) -> Tensor:
    """Features as a dense tensor."""
    if isinstance(x, SparseRows):
        return x.to_dense()
    return x if x.layout == torch.strided else x.to_dense()


def drop_features(x: Features, rate: float) -> Features:
    """Dropout; the same seed drops the same entries of sparse and of dense features."""
    x = as_input(x)
    if not isinstance(x, SparseRows):
        return dropout(x, rate)
    return x.dropped(rate, draw_seed()) if rate > 0 else x
