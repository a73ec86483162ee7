"""The largest eigenvalues of a sparse symmetric matrix and their vectors, for hundreds or thousands of eigenpairs.

A Lanczos method such as ARPACK computes one product at a time and orthogonalizes each new vector against all previous
ones, limited by memory bandwidth. Here a Chebyshev polynomial, large at the wanted eigenvalues and small elsewhere,
filters a whole block of vectors, and the block is orthogonalized at once, limited by the processor. In such a large
block the smallest eigenvalue is far from the last wanted one, so two or three rounds suffice.
"""

from __future__ import annotations

import logging
import math

import scipy.sparse as sp
import torch
from torch import Tensor

from unifilter._internal.checks import without_torch_notices

# A smaller residual is below the precision of float32, in which eigenvectors are stored.
_TOLERANCE = 1e-7
_MAX_ROUNDS = 200
_MAX_DEGREE = 200
# By how much the filter may lift the largest eigenvalue above the unwanted ones in one round. With more,
# the vectors of a random block would nearly align with the eigenvector of that eigenvalue, and rounding would erase
# the other eigenvectors.
_MAX_GROWTH = 1e10

# Distance of the filter's bound from the ends of the spectrum, to avoid a division by zero.
_MARGIN = 1e-9

_log = logging.getLogger("unifilter")


def block_size(count: int, available: int) -> int:
    """Size of a block for ``count`` eigenvectors: slightly larger, because the last vectors converge last."""
    return min(available, count + max(32, count // 5))


def largest_pairs(matrix: sp.csr_array, count: int, *, orthogonal_to: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The ``count`` largest eigenvalues, descending, and their orthonormal vectors in float64.

    Args:
        matrix: Symmetric matrix with eigenvalues in [-1, 1].
        count: Number of eigenvalues.
        orthogonal_to: Known eigenvectors, ``[size, known]``; the result is orthogonal to all of them.
    """
    size = matrix.shape[0]
    if count == 0:
        return torch.empty(0, dtype=torch.float64), torch.empty(size, 0, dtype=torch.float64)
    known = 0 if orthogonal_to is None else orthogonal_to.shape[1]
    width = block_size(count, size - known)
    # A separate random generator, so that the same graph gives the same vectors.
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
    """Rayleigh-Ritz values, descending, their vectors, and the largest residual of the first ``count`` pairs."""
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
