"""Sparse rows times dense matrices, with dropout on the entries: the first layer of a network on a bag of words."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from unifilter.kernels.compiling import compile_kernel
from unifilter.kernels.lanes import store
from unifilter.kernels.narrow_lanes import fitting_width, load_narrow, splat_narrow
from unifilter.kernels.random_bits import ALWAYS, drop_threshold, is_kept, make_mask, mixed_key
from unifilter.kernels.threads import for_each, parts_of


class SparseRows:
    """A sparse matrix on the CPU that is multiplied by many dense ones; ``rows @ dense`` is differentiable in those.

    Args:
        matrix: A torch CSR matrix, float32 or float64.

    Example:
        >>> import torch
        >>> from unifilter.kernels.sparse_rows import SparseRows
        >>> rows = SparseRows(torch.tensor([[0.0, 2.0], [1.0, 0.0]]).to_sparse_csr())
        >>> rows @ torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        tensor([[6., 8.],
                [1., 2.]])
    """

    def __init__(self, matrix: Tensor) -> None:
        starts, columns = matrix.crow_indices().numpy(), matrix.col_indices().numpy()
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(starts))
        self.shape, self.dtype, self.device = matrix.shape, matrix.dtype, matrix.device
        self._values: np.ndarray = matrix.values().numpy()
        # The entries column by column too: of the transposed product every row is one sum again.
        self._order = np.argsort(columns, kind="stable")
        column_starts = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=matrix.shape[1]))])
        self._by_row, self._by_column = (starts, columns), (column_starts, rows[self._order])

    def dropped(self, p: float, seed: int) -> SparseRows:
        """With dropout at a rate of ``p``; the mask is that of a dense matrix, see :mod:`unifilter.kernels.dropout`."""
        if drop_threshold(p) == ALWAYS:
            return self
        other = object.__new__(SparseRows)
        other.__dict__.update(self.__dict__)
        other._values = np.empty_like(self._values)
        _drop_entries(*self._by_row, self._values, make_mask(p, seed, self._values.dtype), other._values)
        return other

    def __matmul__(self, dense: Tensor) -> Tensor:
        return _Product.apply(dense, self)  # type: ignore[no-any-return,no-untyped-call]

    def times(self, dense: Tensor) -> Tensor:
        """``rows @ dense``, without a gradient."""
        return _multiply(*self._by_row, self._values, dense)

    def transposed_times(self, dense: Tensor) -> Tensor:
        """``rows.T @ dense``, without a gradient."""
        return _multiply(*self._by_column, self._values[self._order], dense)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, rows: SparseRows) -> Tensor:
        ctx.rows = rows
        return rows.times(dense)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.rows.transposed_times(grad), None


def _multiply(starts: np.ndarray, places: np.ndarray, values: np.ndarray, dense: Tensor) -> Tensor:
    channels = dense.shape[1]
    width = fitting_width(channels, dense.element_size())
    rest = -channels % len(width)
    source = pad(dense.detach(), (0, rest)).contiguous().numpy()
    # torch's memory starts on a cache line, numpy's anywhere: a matrix product may round differently by that.
    product = torch.empty(len(starts) - 1, channels + rest, dtype=dense.dtype)
    result = product.numpy()

    def multiply_part(part: slice) -> None:
        _multiply_rows(starts[part.start : part.stop + 1], places, values, source, result[part], width)

    for_each(multiply_part, parts_of(len(result)), len(values) * result.shape[1])
    return product[:, :channels].contiguous()


@compile_kernel
def _multiply_rows(starts, places, values, source, result, width):  # type: ignore[no-untyped-def]
    for row in range(len(starts) - 1):
        for column in range(0, result.shape[1], len(width)):
            total = splat_narrow(values.dtype.type(0), width)
            for entry in range(starts[row], starts[row + 1]):
                total = total + splat_narrow(values[entry], width) * load_narrow(source, (places[entry], column), width)
            store(result, (row, column), total)


@compile_kernel
def _drop_entries(starts, columns, values, mask, result):  # type: ignore[no-untyped-def]
    for row in range(len(starts) - 1):
        bits = mixed_key(mask.key, row, 0)
        for entry in range(starts[row], starts[row + 1]):
            kept = is_kept(bits, columns[entry], mask.threshold)
            result[entry] = values[entry] * mask.scale if kept else values.dtype.type(0)
