"""Basis vectors from Lanczos vectors."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from unifilter.kernels.compiled.compiling import compile_kernel
from unifilter.kernels.compiled.lanes import BYTES, load, splat, store
from unifilter.kernels.threads import for_each, parts_of


def combine_compiled(vectors: Tensor, coefficients: Tensor) -> Tensor:
    """See :func:`unifilter.kernels.combine.combine`."""
    count, nodes = coefficients.shape[0], vectors.shape[1]
    source, matrix = vectors.contiguous().numpy(), coefficients.contiguous().numpy()
    result = np.empty((count, nodes, vectors.shape[2]), source.dtype)
    nonzero = (matrix != 0).any(axis=2)
    # Most bases are triangular: basis vector k needs no more than the first k + 1 Lanczos vectors.
    terms = np.where(nonzero.any(axis=1), nonzero.shape[1] - nonzero[:, ::-1].argmax(axis=1), 0)
    for_each(
        lambda part: _combine_rows(source, matrix, terms, part.start, part.stop, result),
        parts_of(nodes, result.size),
        result.size,
    )
    return torch.from_numpy(result)


@compile_kernel
def _combine_rows(vectors, matrix, terms, begin, end, result):  # type: ignore[no-untyped-def]
    channels = vectors.shape[2]
    lanes = BYTES // vectors.itemsize
    whole = channels // lanes * lanes
    # Along the rows, as they lie in memory; the matrix stays in cache.
    for row in range(begin, end):
        for column in range(0, whole, lanes):
            for k in range(matrix.shape[0]):
                total = splat(vectors.dtype.type(0), BYTES)
                for i in range(terms[k]):
                    total = total + load(matrix, (k, i, column), BYTES) * load(vectors, (i, row, column), BYTES)
                store(result, (k, row, column), total)
        for k in range(matrix.shape[0]):
            for column in range(whole, channels):
                result[k, row, column] = 0
            for i in range(terms[k]):
                for column in range(whole, channels):
                    result[k, row, column] += matrix[k, i, column] * vectors[i, row, column]
