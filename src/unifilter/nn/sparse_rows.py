"""Sparse features for the first layer of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from unifilter.kernels.random_bits import ALWAYS, drop_threshold
from unifilter.kernels.sparse_product import drop_entries, sparse_product


class SparseRows:
    """A sparse matrix for many products with dense matrices; ``rows @ dense`` is differentiable in ``dense``.

    Args:
        matrix: A torch CSR matrix, float32 or float64.
        symmetric: Whether the matrix is symmetric, so that the backward pass needs no second copy.

    Example:
        >>> import torch
        >>> from unifilter.nn.sparse_rows import SparseRows
        >>> rows = SparseRows(torch.tensor([[0.0, 2.0], [1.0, 0.0]]).to_sparse_csr())
        >>> rows @ torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        tensor([[6., 8.],
                [1., 2.]])
    """

    def __init__(self, matrix: Tensor, *, symmetric: bool = False) -> None:
        starts, columns = matrix.crow_indices(), matrix.col_indices()
        self.shape, self.dtype, self.device = matrix.shape, matrix.dtype, matrix.device
        self._values, self._by_row = matrix.values(), (starts, columns)
        self._order: Tensor | None = None
        if symmetric:
            self._by_column = self._by_row
            return
        # The entries by column too, so that every row of the transposed product is one sum. They are kept as long as
        # the matrix, in half of the memory where that suffices.
        shape = matrix.shape[0], matrix.shape[1]
        index = np.int32 if max(len(columns), *shape) < 2**31 else np.int64
        places = (part.cpu().numpy() for part in (columns, starts))
        numbered: Any = tuple(part.astype(index) for part in (np.arange(len(columns)), *places))
        by_column = sp.csr_array(numbered, shape).tocsc()
        self._order, column_starts, rows = (
            torch.from_numpy(part).to(matrix.device) for part in (by_column.data, by_column.indptr, by_column.indices)
        )
        self._by_column = column_starts, rows

    @property
    def num_entries(self) -> int:
        """Number of stored entries."""
        return len(self._values)

    def dropped(self, p: float, seed: int) -> SparseRows:
        """The matrix with dropout at rate ``p``, masked like a dense matrix; see :mod:`unifilter.kernels.dropout`."""
        if drop_threshold(p) == ALWAYS:
            return self
        if self._order is None:
            raise ValueError("a symmetric matrix is not symmetric after dropout: build it with symmetric=False")
        return self.with_values(drop_entries(*self._by_row, self._values, p, seed))

    def with_values(self, values: Tensor) -> SparseRows:
        """A matrix with the same pattern and other values, row by row; a symmetric matrix needs symmetric values."""
        other = object.__new__(SparseRows)
        other.__dict__.update(self.__dict__)
        other._values = values
        return other

    def __matmul__(self, dense: Tensor) -> Tensor:
        return _Product.apply(dense, self)  # type: ignore[no-any-return,no-untyped-call]

    def to_dense(self) -> Tensor:
        """The matrix as a dense tensor."""
        return self.times(torch.eye(self.shape[1], dtype=self.dtype, device=self.device))

    def squared_lengths(self) -> Tensor:
        """Sum of the squares of each row, ``[rows, 1]``."""
        ones = torch.ones(self.shape[1], 1, dtype=self.dtype, device=self.device)
        return self.with_values(self._values.square()).times(ones)

    def times(self, dense: Tensor) -> Tensor:
        """``rows @ dense``, without a gradient."""
        return sparse_product(*self._by_row, self._values, dense)

    def transposed_times(self, dense: Tensor) -> Tensor:
        """``rows.T @ dense``, without a gradient."""
        values = self._values if self._order is None else self._values.index_select(0, self._order)
        return sparse_product(*self._by_column, values, dense)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, rows: SparseRows) -> Tensor:
        ctx.rows = rows
        return rows.times(dense)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.rows.transposed_times(grad), None
