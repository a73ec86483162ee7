"""The largest eigenvalues of a sparse symmetric matrix and their vectors, where hundreds or thousands are wanted.

A Lanczos method such as ARPACK takes one product after the other and orthogonalizes each new vector against all before
it, at the speed of memory. Here a whole block of vectors is filtered by a Chebyshev polynomial that grows where the
wanted eigenvalues are and stays small elsewhere, and is orthogonalized in one go, at the speed of the processor. With
so many vectors the block's own smallest eigenvalue is far from the last wanted one, and two or three rounds do.
"""

from __future__ import annotations

import logging
import math

import scipy.sparse as sp
import torch
from torch import Tensor

from unifilter._internal.checks import without_torch_notices

# A residual below this is below what float32, in which eigenvectors are kept, can tell.
_TOLERANCE = 1e-7
_MAX_ROUNDS = 200
_MAX_DEGREE = 200
# By how much the filter may lift the largest eigenvalue above the unwanted ones in one round. More, and the vectors of
# a random block would all but coincide with that eigenvalue's, and those of the others be lost to rounding.
_MAX_GROWTH = 1e10

# How far from the ends of the spectrum the filter's bound stays, where it would be a division by zero.
_MARGIN = 1e-9

_log = logging.getLogger("unifilter")


def block_size(count: int, available: int) -> int:
    """Vectors that are filtered for ``count`` wanted: a few more, since the last of a block converge last."""
    return min(available, count + max(32, count // 5))


def largest_pairs(matrix: sp.csr_array, count: int, *, orthogonal_to: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The ``count`` largest eigenvalues, descending, and their orthonormal vectors in float64.

    Args:
        matrix: Symmetric, with eigenvalues in [-1, 1].
        count: How many.
        orthogonal_to: Eigenvectors that are known already, ``[size, known]``; none of their span is found again.
    """
    size = matrix.shape[0]
    if count == 0:
        return torch.empty(0, dtype=torch.float64), torch.empty(size, 0, dtype=torch.float64)
    known = 0 if orthogonal_to is None else orthogonal_to.shape[1]
    width = block_size(count, size - known)
    # A start of our own, so that the same graph gives the same vectors.
    start = torch.randn(size, width, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    block = _orthonormal(start, orthogonal_to)
    operator = _as_torch(matrix)
    for done in range(_MAX_ROUNDS):
        values, block, residual = _rotated(operator, block, count)
        _log.info("%s eigenvectors, round %d: accurate to %.0e", f"{count:,}", done + 1, residual)
        if residual < _TOLERANCE:
            return values[:count], block[:, :count]
        block = _orthonormal(_filtered(matrix, block, float(values[-1])), orthogonal_to)
    raise ValueError(
        f"the {count:,} largest eigenvalues are accurate to {residual:.0e} after {_MAX_ROUNDS} rounds, and "
        f"{_TOLERANCE:.0e} is asked: the next ones are too close to them; ask for more"
    )


def _rotated(operator: Tensor, block: Tensor, count: int) -> tuple[Tensor, Tensor, float]:
    """The block turned to the matrix' eigenvectors within its span, descending, and how far the wanted are off."""
    image = operator @ block
    values, turn = torch.linalg.eigh(block.T @ image)
    values, turn = values.flip(0), turn.flip(1)
    block, image = block @ turn, image @ turn
    return values, block, float((image - block * values)[:, :count].norm(dim=0).max())


def _filtered(matrix: sp.csr_array, block: Tensor, bound: float) -> Tensor:
    """A Chebyshev polynomial of the matrix times the block: at most 1 on eigenvalues in [-1, bound], growing above."""
    bound = min(max(bound, -1 + _MARGIN), 1 - _MARGIN)
    center, radius = (bound - 1) / 2, (bound + 1) / 2
    operator = _as_torch(sp.csr_array((matrix - center * sp.eye_array(matrix.shape[0])) / radius))
    degree = min(_MAX_DEGREE, int(math.acosh(_MAX_GROWTH) / math.acosh((1 - center) / radius)))
    before, now = block, operator @ block
    for _ in range(degree - 1):
        before, now = now, torch.addmm(before, operator, now, beta=-1, alpha=2)
    return now


def _orthonormal(block: Tensor, orthogonal_to: Tensor | None) -> Tensor:
    if orthogonal_to is not None:
        block = block - orthogonal_to @ (orthogonal_to.T @ block)
    basis: Tensor = torch.linalg.qr(block).Q
    return basis


def _as_torch(matrix: sp.csr_array) -> Tensor:
    start, columns, values = (torch.from_numpy(part) for part in (matrix.indptr, matrix.indices, matrix.data))
    with without_torch_notices():
        return torch.sparse_csr_tensor(start, columns, values, matrix.shape, check_invariants=False)
