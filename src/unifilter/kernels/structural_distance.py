"""How alike the surroundings of two nodes are: degrees in the rings around each, compared by dynamic time warping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from unifilter.kernels.backend import numba_chosen

# How far from the path of the shorter lists the path of the longer ones may be: struc2vec's choice.
RADIUS = 1
# Keeps the ratio of two degrees finite where one is zero.
SHIFT = 0.5

Element = tuple[float, float]
Cell = tuple[int, int]


class Rings(NamedTuple):
    """The degrees in each ring around each node: all nodes that are exactly k hops away, k from 0 on.

    A ring is a list of pairs, a degree and how many nodes have it, in the order of the degrees.

    Attributes:
        first: The first ring of each node among all rings, int64 ``[num_nodes + 1]``.
        starts: Where each ring begins among all pairs, int64 ``[num_rings + 1]``.
        degrees, counts: The pairs, int32.
    """

    first: np.ndarray
    starts: np.ndarray
    degrees: np.ndarray
    counts: np.ndarray


def ring_sizes(
    row_start: np.ndarray, neighbors: np.ndarray, limit: int, nodes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How many rings some nodes have, at most ``limit``, and how many pairs these have together, int64 ``[nodes]``."""
    if numba_chosen():
        from unifilter.kernels.compiled.structural_distance import ring_sizes_compiled

        return ring_sizes_compiled(row_start, neighbors, limit, nodes)
    found = [[len(ring) for ring in _rings_around(row_start, neighbors, int(node), limit)] for node in nodes]
    return np.array([len(lengths) for lengths in found], np.int64), np.array([sum(one) for one in found], np.int64)


def degree_rings(row_start: np.ndarray, neighbors: np.ndarray, sizes: tuple[np.ndarray, np.ndarray]) -> Rings:
    """The rings around every node of compressed rows without loops, of the sizes that :func:`ring_sizes` found."""
    if numba_chosen():
        from unifilter.kernels.compiled.structural_distance import degree_rings_compiled

        return degree_rings_compiled(row_start, neighbors, sizes)
    rings = [
        ring for node, count in enumerate(sizes[0]) for ring in _rings_around(row_start, neighbors, node, int(count))
    ]
    pairs = np.array([pair for ring in rings for pair in ring], np.int32).reshape(-1, 2)
    return Rings(starts_of(sizes[0]), starts_of([len(ring) for ring in rings]), pairs[:, 0], pairs[:, 1])


def ring_distances(rings: Rings, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distances of pairs of nodes: for each k that both have rings for, the sum over their rings from 0 to k.

    Args:
        rings: The rings around every node.
        pairs: Two nodes each, ``[2, num_pairs]``.

    Returns:
        Where the distances of each pair begin, int64 ``[num_pairs + 1]``, and all of them, float64.
    """
    starts = starts_of(np.diff(rings.first)[pairs].min(axis=0))
    if numba_chosen():
        from unifilter.kernels.compiled.structural_distance import ring_distances_compiled

        return starts, ring_distances_compiled(rings, pairs, starts)
    distances = [np.zeros(0)]
    for (left, right), count in zip(pairs.T, np.diff(starts), strict=True):
        both = [[_ring(rings, rings.first[node] + k) for node in (left, right)] for k in range(count)]
        distances.append(np.cumsum([fast_dtw(*ring)[0] for ring in both]))
    return starts, np.concatenate(distances)


def starts_of(counts: Sequence[int] | np.ndarray) -> np.ndarray:
    """Where each begins, and the end of the last, if so many follow each other."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def fast_dtw(left: Sequence[Element], right: Sequence[Element]) -> tuple[float, list[Cell]]:
    """The least cost of a path through both lists, and the path, searched near that of the lists of half the length."""
    if min(len(left), len(right)) < RADIUS + 2:
        return dtw(left, right, [(i, j) for i in range(len(left)) for j in range(len(right))])
    _, path = fast_dtw(_halved(left), _halved(right))
    near = {(i + a, j + b) for i, j in path for a in range(-RADIUS, RADIUS + 1) for b in range(-RADIUS, RADIUS + 1)}
    cells = {(2 * i + a, 2 * j + b) for i, j in near for a in (0, 1) for b in (0, 1)}
    return dtw(left, right, sorted((i, j) for i, j in cells if 0 <= i < len(left) and 0 <= j < len(right)))


def dtw(left: Sequence[Element], right: Sequence[Element], cells: Sequence[Cell]) -> tuple[float, list[Cell]]:
    """The least cost of a path through these cells, row by row in order, and the path."""
    best: dict[Cell, tuple[float, Cell]] = {(-1, -1): (0.0, (-1, -1))}
    for i, j in cells:
        step = cost(left[i], right[j])
        before = [cell for cell in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if cell in best]
        best[i, j] = min(((best[cell][0] + step, cell) for cell in before), key=lambda found: found[0])
    path = [(len(left) - 1, len(right) - 1)]
    while path[-1] != (0, 0):
        path.append(best[path[-1]][1])
    return best[path[0]][0], path[::-1]


def cost(left: Element, right: Element) -> float:
    """Of two degrees, each with the number of nodes that have it."""
    low, high = sorted((left[0], right[0]))
    return ((high + SHIFT) / (low + SHIFT) - 1) * max(left[1], right[1])


def _halved(values: Sequence[Element]) -> list[Element]:
    """Means of two and two; the last of an odd number is left out."""
    return [
        ((first[0] + second[0]) / 2, (first[1] + second[1]) / 2)
        for first, second in zip(values[::2], values[1::2], strict=False)
    ]


def _ring(rings: Rings, index: int) -> list[Element]:
    part = slice(rings.starts[index], rings.starts[index + 1])
    return list(zip(rings.degrees[part].tolist(), rings.counts[part].tolist(), strict=True))


def _rings_around(row_start: np.ndarray, neighbors: np.ndarray, node: int, limit: int) -> Iterator[list[Cell]]:
    degrees, ring, seen = np.diff(row_start), [node], {node}
    for _ in range(limit):
        yield sorted(Counter(degrees[ring].tolist()).items())
        reached = {int(other) for one in ring for other in neighbors[row_start[one] : row_start[one + 1]]}
        ring = sorted(reached - seen)
        seen |= reached
        if not ring:
            return
