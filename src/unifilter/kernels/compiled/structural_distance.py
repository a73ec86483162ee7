"""Degrees in the rings around nodes, and how alike they are."""

from __future__ import annotations

import numpy as np

from unifilter.kernels.compiled.compiling import compile_inline, compile_kernel
from unifilter.kernels.structural_distance import RADIUS, SHIFT, Rings, starts_of
from unifilter.kernels.threads import equal_parts, for_each

# Rings grow at different speeds. This many parts keep all threads busy until the end.
_PARTS = 64
# Where a path came from.
_UP, _LEFT, _DIAGONAL = 0, 1, 2
# A list of 32-bit length is halved at most so often.
_MOST_LEVELS = 32


def ring_sizes_compiled(
    row_start: np.ndarray, neighbors: np.ndarray, limit: int, nodes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """See :func:`unifilter.kernels.structural_distance.ring_sizes`."""
    distinct, rank = np.unique(np.diff(row_start), return_inverse=True)
    rings, pairs = np.zeros((2, len(nodes)), np.int64)

    def count(part: slice) -> None:
        _count_rings(row_start, neighbors, rank, len(distinct), nodes[part], limit, rings[part], pairs[part])

    for_each(count, equal_parts(len(nodes), _PARTS))
    return rings, pairs


def degree_rings_compiled(row_start: np.ndarray, neighbors: np.ndarray, sizes: tuple[np.ndarray, np.ndarray]) -> Rings:
    """See :func:`unifilter.kernels.structural_distance.degree_rings`."""
    distinct, rank = np.unique(np.diff(row_start), return_inverse=True)
    first, first_pair = starts_of(sizes[0]), starts_of(sizes[1])
    rings = Rings(first, np.empty(first[-1] + 1, np.int64), *np.empty((2, first_pair[-1]), np.int32))

    def fill(part: slice) -> None:
        _fill_rings(row_start, neighbors, rank, distinct, part.start, part.stop, first_pair, *rings)

    for_each(fill, equal_parts(len(rank), _PARTS))
    rings.starts[-1] = first_pair[-1]
    return rings


def ring_distances_compiled(rings: Rings, pairs: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """See :func:`unifilter.kernels.structural_distance.ring_distances`."""
    distances = np.empty(starts[-1])
    longest = int(np.diff(rings.starts).max(initial=0))

    def compare(part: slice) -> None:
        _compare(*rings, longest, pairs, part.start, part.stop, starts, distances)

    for_each(compare, equal_parts(pairs.shape[1], _PARTS))
    return distances


@compile_inline
def _tally(queue, begin, end, rank, tally):  # type: ignore[no-untyped-def]
    """How often each degree occurs in a ring."""
    tally[:] = 0
    for place in range(begin, end):
        tally[rank[queue[place]]] += 1


@compile_inline
def _reach(row_start, neighbors, queue, begin, end, seen, root):  # type: ignore[no-untyped-def]
    """Append the next ring to the queue; where it ends."""
    last = end
    for place in range(begin, end):
        node = queue[place]
        for entry in range(row_start[node], row_start[node + 1]):
            other = neighbors[entry]
            if seen[other] != root:
                seen[other] = root
                queue[last] = other
                last += 1
    return last


@compile_kernel
def _count_rings(row_start, neighbors, rank, distinct, nodes, limit, rings, pairs):  # type: ignore[no-untyped-def]
    queue, seen = np.empty(len(rank), np.int32), np.full(len(rank), -1, np.int32)
    tally = np.empty(distinct, np.int32)
    for index in range(len(nodes)):
        root = nodes[index]
        queue[0], seen[root] = root, root
        begin, end = 0, 1
        while begin < end and rings[index] < limit:
            _tally(queue, begin, end, rank, tally)
            for count in tally:
                pairs[index] += count > 0
            rings[index] += 1
            begin, end = end, _reach(row_start, neighbors, queue, begin, end, seen, root)


@compile_kernel
def _fill_rings(  # type: ignore[no-untyped-def]
    row_start, neighbors, rank, distinct, first, last, first_pair, first_ring, starts, degrees, counts
):
    queue, seen = np.empty(len(rank), np.int32), np.full(len(rank), -1, np.int32)
    tally = np.empty(len(distinct), np.int32)
    for root in range(first, last):
        queue[0], seen[root] = root, root
        begin, end = 0, 1
        pair = first_pair[root]
        for ring in range(first_ring[root], first_ring[root + 1]):
            _tally(queue, begin, end, rank, tally)
            starts[ring] = pair
            for index in range(len(tally)):
                if tally[index] > 0:
                    degrees[pair], counts[pair] = distinct[index], tally[index]
                    pair += 1
            begin, end = end, _reach(row_start, neighbors, queue, begin, end, seen, root)


@compile_kernel
def _compare(  # type: ignore[no-untyped-def]
    first_ring, ring_starts, ring_degrees, ring_counts, longest, pairs, first, last, starts, distances
):
    # Lists of both sides at all lengths, one after the other: each is half as long as the one before.
    degrees, counts = np.empty((2, 2 * longest + 1)), np.empty((2, 2 * longest + 1))
    begins = np.empty((2, _MOST_LEVELS + 1), np.int64)
    # Two rows of costs, with a place before the first column; which columns each row of cells has; the path's columns.
    costs = np.empty((2, longest + 2))
    low, high, least, most = np.empty((4, longest + 1), np.int32)
    # Cells near a path: at most 6 for each row and 8 for each column.
    moves = np.empty(14 * longest + 64, np.int8)
    for pair in range(first, last):
        total = 0.0
        for ring in range(starts[pair + 1] - starts[pair]):
            for side in range(2):
                index = first_ring[pairs[side, pair]] + ring
                size = ring_starts[index + 1] - ring_starts[index]
                begins[side, 0], begins[side, 1] = 0, size
                for place in range(size):
                    degrees[side, place] = ring_degrees[ring_starts[index] + place]
                    counts[side, place] = ring_counts[ring_starts[index] + place]
            levels = _halve(degrees, counts, begins)
            for level in range(levels, -1, -1):
                rows = begins[0, level + 1] - begins[0, level]
                columns = begins[1, level + 1] - begins[1, level]
                if level == levels:
                    low[:rows], high[:rows] = 0, columns
                else:
                    _widen(low, high, least, most, rows, columns, begins[0, level + 2] - begins[0, level + 1])
                left, right = begins[0, level], begins[1, level]
                cost = _align(
                    degrees[0, left:], counts[0, left:], degrees[1, right:], counts[1, right:],
                    rows, columns, low, high, costs, moves,
                )  # fmt: skip
                if level > 0:
                    _trace(rows, columns, low, high, moves, least, most)
            total += cost
            distances[starts[pair] + ring] = total


@compile_kernel
def _halve(degrees, counts, begins):  # type: ignore[no-untyped-def]
    """Means of two and two, until one of the lists is short; how often."""
    level = 0
    while min(begins[0, level + 1] - begins[0, level], begins[1, level + 1] - begins[1, level]) >= RADIUS + 2:
        for side in range(2):
            begin, end = begins[side, level], begins[side, level + 1]
            half = (end - begin) // 2
            for place in range(half):
                source = begin + 2 * place
                degrees[side, end + place] = (degrees[side, source] + degrees[side, source + 1]) / 2
                counts[side, end + place] = (counts[side, source] + counts[side, source + 1]) / 2
            begins[side, level + 2] = end + half
        level += 1
    return level


@compile_kernel
def _widen(low, high, least, most, rows, columns, coarse_rows):  # type: ignore[no-untyped-def]
    """Which cells are near the path of the lists of half the length."""
    for row in range(rows):
        before, after = max(row // 2 - RADIUS, 0), min(row // 2 + RADIUS, coarse_rows - 1)
        low[row] = max(2 * (least[before] - RADIUS), 0)
        high[row] = min(2 * (most[after] + RADIUS) + 2, columns)


@compile_kernel
def _align(  # type: ignore[no-untyped-def]
    left_degrees, left_counts, right_degrees, right_counts, rows, columns, low, high, costs, moves
):
    """The least cost of a path; where it came from in each cell, row by row."""
    # Column j is in place j + 1. What is beside the cells of a row can never be reached.
    costs[:, : columns + 1] = np.inf
    cell = 0
    for row in range(rows):
        above, here = costs[(row + 1) % 2], costs[row % 2]
        if row > 0:
            above[high[row - 1] + 1 : high[row] + 1] = np.inf
        else:
            above[0] = 0.0  # the start, before both lists
        here[low[row]] = np.inf
        degree, count = left_degrees[row] + SHIFT, left_counts[row]
        for column in range(low[row], high[row]):
            other = right_degrees[column] + SHIFT
            ratio = degree / other if degree > other else other / degree
            step = (ratio - 1) * max(count, right_counts[column])
            best, move = above[column + 1] + step, _UP
            if here[column] + step < best:
                best, move = here[column] + step, _LEFT
            if above[column] + step < best:
                best, move = above[column] + step, _DIAGONAL
            here[column + 1] = best
            moves[cell] = move
            cell += 1
        if row == 0:
            above[0] = np.inf
    return costs[(rows - 1) % 2, columns]


@compile_kernel
def _trace(rows, columns, low, high, moves, least, most):  # type: ignore[no-untyped-def]
    """The first and last column of the path in each row, from its end back to the start."""
    end = 0
    for row in range(rows):
        end += high[row] - low[row]
    row, column = rows - 1, columns - 1
    begin = end - (high[row] - low[row])
    most[row] = column
    while True:
        least[row] = column
        if row == 0 and column == 0:
            return
        move = moves[begin + column - low[row]]
        if move != _UP:
            column -= 1
        if move != _LEFT:
            row -= 1
            begin -= high[row] - low[row]
            most[row] = column
