from __future__ import annotations

import numpy as np
import pytest

from unifilter.kernels.compiled.orthogonality import reorthogonalize


@pytest.mark.parametrize("columns", [5, 16])
def test_earlier_vectors_are_taken_out_and_norms_renewed(columns: int) -> None:
    random = np.random.default_rng(0)
    nodes, lanes = 150, 16
    # Three orthonormal vectors per column; the block is kept divided by the root of the degree.
    orthonormal = np.stack([np.linalg.qr(random.standard_normal((nodes, 3)))[0] for _ in range(columns)], axis=2)
    vectors = np.ascontiguousarray(orthonormal.transpose(1, 0, 2))
    degree = random.integers(1, 9, nodes).astype(float)
    root = np.sqrt(degree)
    signal = random.standard_normal((nodes, columns)) + 30 * vectors[2]
    block = np.zeros((nodes, lanes))
    block[:, :columns] = signal / root[:, None]
    chosen = np.arange(lanes) != 1
    residual = np.full(lanes, -1.0)
    reorthogonalize(vectors[[0, 2]], block, root, 1 / root, degree, chosen, residual, 0, columns)

    kept = sum(vectors[k] * (vectors[k] * signal).sum(axis=0) for k in (0, 2))
    expected = signal - np.where(chosen[:columns], kept, 0)
    np.testing.assert_allclose(block[:, :columns] * root[:, None], expected, atol=1e-12)
    norms = np.where(chosen[:columns], (expected**2).sum(axis=0), -1)
    np.testing.assert_allclose(residual[:columns], norms, rtol=1e-12)
