"""The sum over a node's neighbors: what the sparse product is made of."""

from __future__ import annotations

from unifilter.kernels.compiled.compiling import compile_inline
from unifilter.kernels.compiled.lanes import load, prefetch_for_reading, splat

# How many neighbors ahead they are requested.
_AHEAD = 16


@compile_inline
def neighbor_sum(row_start, neighbours, weights, block, row, column, far, zero):  # type: ignore[no-untyped-def]
    """The weighted sum of the neighbors' rows of ``block``, from ``column`` on, as wide as ``zero``.

    ``far`` says that the block is not in the core's own cache: then neighbors are requested ahead.
    """
    # Two sums side by side: additions overlap instead of waiting for each other.
    even = odd = zero
    entry, stop = row_start[row], row_start[row + 1]
    if weights is None:
        while entry + 2 <= stop:
            if far and entry + _AHEAD + 1 < len(neighbours):
                for ahead in range(entry + _AHEAD, entry + _AHEAD + 2):
                    # The first and the last number: they lie on two cache lines at most.
                    prefetch_for_reading(block, (neighbours[ahead], column))
                    prefetch_for_reading(block, (neighbours[ahead], column + len(zero) - 1))
            even = even + load(block, (neighbours[entry], column), zero)
            odd = odd + load(block, (neighbours[entry + 1], column), zero)
            entry += 2
        if entry < stop:
            even = even + load(block, (neighbours[entry], column), zero)
    else:
        while entry < stop:
            even = even + splat(weights[entry], zero) * load(block, (neighbours[entry], column), zero)
            entry += 1
    return even + odd
