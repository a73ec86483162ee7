"""Node features in memory: dense or sparse, scaled by row, with a digest of the content."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from unifilter._internal.checks import as_feature_matrix, without_torch_notices
from unifilter.data.column_scales import column_deviations

FeatureScaling = Literal["raw", "row", "l2", "standard"]
SCALINGS: tuple[FeatureScaling, ...] = ("raw", "row", "l2", "standard")

# A sparse entry takes three times the memory of a dense one (its value and a 64-bit column index) and is slower to
# multiply. Bags of words have 0.5 % (Actor) to 10 % (Pubmed) nonzero entries, measured features mostly nonzero ones.
SPARSE_BELOW = 0.125

_NUMPY_TYPES = {torch.float32: np.float32, torch.float64: np.float64}
# Rows per block, so that no second copy of a large matrix is made.
_BLOCK_ROWS = 4096


def pack_features(x: Any, dtype: torch.dtype = torch.float32) -> Tensor:
    """Convert features to one precision: CSR if fewer than an eighth of the entries are nonzero, otherwise dense.

    Args:
        x: A numpy array, a scipy sparse matrix, or a torch tensor of any layout.
        dtype: float32 or float64.
    """
    if dtype not in _NUMPY_TYPES:
        raise ValueError(f"features can be float32 or float64, not {dtype}: pass one of them as dtype")
    numpy_dtype = _NUMPY_TYPES[dtype]
    shape: tuple[int, ...] = getattr(x, "shape", ())
    if len(shape) == 2 and shape[1] == 0:
        # Such a matrix takes no memory however many rows it has, but anything computed per row would.
        raise ValueError("features have no columns: pass at least one feature column")
    matrix = _as_numpy_or_scipy(x)
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"features must be numbers, not {matrix.dtype}: encode them as float32 first")
    if matrix.ndim != 2:
        raise ValueError(f"features must have shape [num_nodes, num_features], not {list(matrix.shape)}")
    sparse = sp.issparse(matrix)
    with np.errstate(over="ignore"):  # overflow to infinity; NodeDataset rejects infinite features
        filled = matrix.nnz if sparse else np.count_nonzero(matrix)
        if filled >= SPARSE_BELOW * max(matrix.shape[0] * matrix.shape[1], 1):
            dense = matrix.toarray() if sparse else matrix
            return _shared_tensor(np.ascontiguousarray(dense, dtype=numpy_dtype))
        rows = sp.csr_array(matrix).astype(numpy_dtype, copy=False)
    if not rows.has_canonical_format:
        rows = rows.copy()  # the caller may own the arrays
        rows.sum_duplicates()
    with without_torch_notices():
        return torch.sparse_csr_tensor(
            torch.from_numpy(rows.indptr.astype(np.int64)),
            torch.from_numpy(rows.indices.astype(np.int64)),
            torch.from_numpy(rows.data),
            size=rows.shape,
            check_invariants=False,
        )


def checked_features(x: Any, num_nodes: int) -> Tensor:
    """Finite features, one row per node. Sparse features become CSR, dense ones stay dense."""
    matrix = as_feature_matrix(x, num_nodes, sparse="csr")
    return matrix.detach()


def scale_rows(features: Tensor, scaling: Literal["row", "l2"]) -> Tensor:
    """Divide each row by the sum of its absolute values (``"row"``) or by its Euclidean norm (``"l2"``).

    Rows of zeros are unchanged.
    """
    sparse = features.layout == torch.sparse_csr
    values = features.values() if sparse else features
    scaled = torch.empty_like(values, memory_format=torch.contiguous_format)
    for first in range(0, features.shape[0], _BLOCK_ROWS):
        # The rows of a block, or their entries and the row of each.
        part, row = slice(first, first + _BLOCK_ROWS), None
        if sparse:
            starts = features.crow_indices()[first : first + _BLOCK_ROWS + 1]
            part, row = slice(int(starts[0]), int(starts[-1])), _row_of_entry(starts)
        # In float64, where the square of a float32 does not overflow.
        block = values[part].double()
        amounts = block.abs() if scaling == "row" else block.square()
        if row is None:
            total = amounts.sum(dim=1, keepdim=True)
        else:
            total = torch.zeros(len(starts) - 1, dtype=torch.float64).index_add_(0, row, amounts)
        if scaling == "l2":
            total = total.sqrt()
        divisor = torch.where(total > 0, total, 1.0)
        scaled[part] = (block / (divisor if row is None else divisor[row])).to(scaled.dtype)
    if not sparse:
        return scaled
    with without_torch_notices():
        return torch.sparse_csr_tensor(
            features.crow_indices(), features.col_indices(), scaled, size=features.shape, check_invariants=False
        )


def scale_spread(features: Tensor) -> float:
    """Ratio of the largest to the smallest standard deviation of the columns.

    Constant columns are ignored; without any other column the ratio is 1. Sparse features are not made dense.

    Example:
        >>> import torch
        >>> from unifilter.data.features import scale_spread
        >>> scale_spread(torch.tensor([[0.0, 0.0, 7.0], [1.0, 1000.0, 7.0]]))
        1000.0
    """
    deviations = column_deviations(features)
    varying = deviations[deviations > 0]
    return float(varying.max() / varying.min()) if len(varying) else 1.0


def features_digest(features: Tensor) -> bytes:
    """A digest of the non-zero entries.

    It does not depend on whether the features are sparse or dense, nor on the precision if both represent the same
    numbers.
    """
    counts, columns, values = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
    matrix = _as_numpy_or_scipy(features)
    number = "<f4" if _are_single(matrix) else "<f8"
    for start in range(0, matrix.shape[0], _BLOCK_ROWS):
        # A copy, because a slice of a sparse matrix may share its memory, and the block is modified below.
        block = sp.csr_array(matrix[start : start + _BLOCK_ROWS], copy=True)
        block.eliminate_zeros()
        block.sort_indices()
        counts.update(np.diff(block.indptr).astype("<i8").tobytes())
        columns.update(block.indices.astype("<i8").tobytes())
        values.update(block.data.astype(number).tobytes())
    shape = np.array(matrix.shape, dtype="<i8").tobytes()
    return shape + counts.digest() + columns.digest() + values.digest()


def _are_single(matrix: Any) -> bool:
    """Whether float32 represents every number exactly."""
    numbers: np.ndarray = matrix if isinstance(matrix, np.ndarray) else sp.csr_array(matrix).data
    if numbers.dtype != np.float64:
        return True
    with np.errstate(over="ignore"):
        rows = range(0, len(numbers), _BLOCK_ROWS)
        return all(
            np.array_equal(part.astype(np.float32), part) for part in (numbers[row : row + _BLOCK_ROWS] for row in rows)
        )


def _as_numpy_or_scipy(x: Any) -> Any:
    if not isinstance(x, Tensor):
        return x if sp.issparse(x) else np.asarray(x)
    x = x.detach().cpu()
    if x.layout == torch.strided:
        return x.numpy()
    with without_torch_notices():
        rows = x if x.layout == torch.sparse_csr else x.to_sparse_csr()
    parts = (rows.values().numpy(), rows.col_indices().numpy(), rows.crow_indices().numpy())
    return sp.csr_array(parts, shape=tuple(rows.shape))


def _shared_tensor(array: np.ndarray) -> Tensor:
    with without_torch_notices():
        return torch.from_numpy(array)


def _row_of_entry(starts: Tensor) -> Tensor:
    return torch.repeat_interleave(torch.arange(len(starts) - 1), starts.diff())
