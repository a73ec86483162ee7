"""The layer that reads the features, which may be sparse: then only their entries are touched."""

from __future__ import annotations

from torch import Tensor, nn

from unifilter.kernels.dropout import dropout
from unifilter.kernels.random_bits import draw_seed
from unifilter.nn.sparse_rows import SparseRows

# Features as a model takes them.
Features = Tensor | SparseRows


class InputLinear(nn.Linear):
    """:class:`torch.nn.Linear` with dropout on its input."""

    def forward(self, x: Features, rate: float = 0.0) -> Tensor:
        x = drop_features(x, rate)
        if not isinstance(x, SparseRows):
            return super().forward(x)
        product = x @ self.weight.T
        return product if self.bias is None else product + self.bias


def drop_features(x: Features, rate: float) -> Features:
    """Dropout; the same seed drops the same of sparse features and of dense ones."""
    if not isinstance(x, SparseRows):
        return dropout(x, rate)
    return x.dropped(rate, draw_seed()) if rate > 0 else x
