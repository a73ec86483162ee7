"""How the compiled factorization keeps its vectors orthogonal: an estimate of the loss, and its removal."""

from __future__ import annotations

import numpy as np

from unifilter.kernels.compiled.compiling import compile_inline, compile_kernel
from unifilter.kernels.compiled.lanes import BYTES, load, splat, store
from unifilter.kernels.lanczos import LARGEST_LOSS

# Rows summed in the signal's own precision before the sum goes to a double-precision total.
ROWS_PER_SUM = 64


@compile_kernel
def estimate_rounding(rounding, column, hop, alpha, beta, residual, epsilon):  # type: ignore[no-untyped-def]
    """Simon's recurrence: what v_{hop+1} keeps of the vectors before it, from the tridiagonal alone.

    Tells whether it must be cleaned now.
    """
    rest = np.sqrt(residual[column])
    # A product with a matrix of norm 1 rounds by so much, however short the result is.
    noise = np.float64(epsilon)
    if rest <= noise:
        return True
    here, before, after = rounding[(hop + 2) % 3], rounding[(hop + 1) % 3], rounding[hop % 3]
    here[hop, column] = 1
    worst = noise / rest
    after[hop, column] = worst
    for other in range(hop):
        kept = beta[other, column] * here[other + 1, column]
        kept += (np.float64(alpha[other, column]) - alpha[hop, column]) * here[other, column]
        if other > 0:
            kept += beta[other - 1, column] * here[other - 1, column]
        kept -= beta[hop - 1, column] * before[other, column]
        kept += noise if kept >= 0 else -noise
        after[other, column] = kept / rest
        worst = max(worst, abs(after[other, column]))
    return worst > LARGEST_LOSS * np.sqrt(epsilon)


@compile_kernel
def reorthogonalize(  # type: ignore[no-untyped-def]
    vectors, block, root_degree, inverse_root, degree, chosen, residual, first, last
):
    """Takes all vectors out of the chosen columns of ``block``, ``first`` to ``last``, and renews their norms."""
    nodes = block.shape[0]
    lanes = BYTES // block.itemsize
    zero = splat(block.dtype.type(0), BYTES)
    tail = np.zeros(lanes, block.dtype)
    rows_here = np.zeros((ROWS_PER_SUM, lanes), block.dtype)
    kept = np.zeros((len(vectors), lanes), block.dtype)
    total = np.zeros((len(vectors), lanes))
    for start in range(0, nodes, ROWS_PER_SUM):
        stop = min(nodes, start + ROWS_PER_SUM)
        for row in range(start, stop):
            store(rows_here, (row - start, 0), load(block, (row, first), BYTES) * splat(root_degree[row], BYTES))
        for other in range(len(vectors)):
            partial = zero
            for row in range(start, stop):
                partial = partial + _load_vector(vectors, other, row, first, tail) * load(
                    rows_here, (row - start, 0), BYTES
                )
            store(kept, (other, 0), partial)
        total += kept
    for column in range(first, last):
        kept[:, column - first] = total[:, column - first] * chosen[column]
    squared = np.zeros(lanes)
    for start in range(0, nodes, ROWS_PER_SUM):
        stop = min(nodes, start + ROWS_PER_SUM)
        rows_here[:, :] = 0
        for other in range(len(vectors)):
            share = load(kept, (other, 0), BYTES)
            for row in range(start, stop):
                removed = share * _load_vector(vectors, other, row, first, tail)
                store(rows_here, (row - start, 0), load(rows_here, (row - start, 0), BYTES) + removed)
        partial = zero
        for row in range(start, stop):
            rest = load(block, (row, first), BYTES) - load(rows_here, (row - start, 0), BYTES) * splat(
                inverse_root[row], BYTES
            )
            store(block, (row, first), rest)
            partial = partial + rest * rest * splat(degree[row], BYTES)
        store(rows_here, (0, 0), partial)
        squared += rows_here[0]
    for column in range(first, last):
        if chosen[column]:
            residual[column] = squared[column - first]


@compile_inline
def _load_vector(vectors, hop, row, column, tail):  # type: ignore[no-untyped-def]
    """Lanes of a stored vector, through ``tail`` where its columns end within them."""
    if column + tail.shape[0] <= vectors.shape[2]:
        return load(vectors, (hop, row, column), BYTES)
    for rest in range(vectors.shape[2] - column):
        tail[rest] = vectors[hop, row, column + rest]
    return load(tail, (0,), BYTES)
