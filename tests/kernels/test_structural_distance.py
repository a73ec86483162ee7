from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import connected_graph, graphs

from unifilter import Graph
from unifilter.kernels import backend
from unifilter.kernels.structural_distance import (
    Rings,
    cost,
    degree_rings,
    dtw,
    fast_dtw,
    ring_distances,
    ring_sizes,
    starts_of,
)

EVERY_RING = 10**9

# A ring: degrees in order, each with the number of its nodes.
ring_lists = st.dictionaries(st.integers(0, 400), st.integers(1, 50), min_size=1, max_size=60).map(
    lambda counts: sorted(counts.items())
)


def arrays(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    graph = graph.with_self_loops("remove")
    return graph.row_start.numpy(), graph.neighbors.numpy()


def rings_of(graph: Graph, limit: int = EVERY_RING) -> Rings:
    rows = arrays(graph)
    return degree_rings(*rows, ring_sizes(*rows, limit, np.arange(graph.num_nodes)))


def listed(rings: Rings) -> list[list[list[tuple[int, int]]]]:
    """Node by node, ring by ring."""
    pairs = list(zip(rings.degrees.tolist(), rings.counts.tolist(), strict=True))
    each = [pairs[begin:end] for begin, end in pairwise(rings.starts)]
    return [each[begin:end] for begin, end in pairwise(rings.first)]


def rings_with(lists: list[list[tuple[int, int]]]) -> Rings:
    """One ring for each node."""
    degrees, counts = np.array([pair for ring in lists for pair in ring], np.int32).T
    return Rings(np.arange(len(lists) + 1), starts_of([len(ring) for ring in lists]), degrees.copy(), counts.copy())


def full_dtw(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> float:
    """The least cost by the recurrence over all cells."""
    best = np.full((len(left) + 1, len(right) + 1), np.inf)
    best[0, 0] = 0
    for i, one in enumerate(left):
        for j, other in enumerate(right):
            best[i + 1, j + 1] = cost(one, other) + min(best[i, j + 1], best[i + 1, j], best[i, j])
    return float(best[-1, -1])


def compiled_and_plain(compute: Callable[[], tuple[np.ndarray, ...]]) -> list[tuple[np.ndarray, ...]]:
    results = []
    for compiled in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(backend, "_numba_chosen", lambda compiled=compiled: compiled)
            results.append(compute())
    return results


# Rings


def test_rings_of_a_path() -> None:
    path = Graph.from_edges(np.array([[0, 1, 2], [1, 2, 3]]))
    end, middle = [[(1, 1)], [(2, 1)], [(2, 1)], [(1, 1)]], [[(2, 1)], [(1, 1), (2, 1)], [(1, 1)]]
    assert listed(rings_of(path)) == [end, middle, middle, end]
    assert listed(rings_of(path, limit=2)) == [end[:2], middle[:2], middle[:2], end[:2]]


@given(graphs(), st.sampled_from([1, 2, 5, EVERY_RING]))
def test_rings_hold_every_node_that_can_be_reached_once(graph: Graph, limit: int) -> None:
    adjacency = graph.with_self_loops("remove").adjacency().to_dense().numpy() > 0
    degrees = adjacency.sum(axis=1)
    within = np.eye(graph.num_nodes, dtype=bool)
    rings = listed(rings_of(graph, limit))
    for k in range(min(limit, graph.num_nodes)):
        further = within | (within @ adjacency)
        exactly = within if k == 0 else further & ~within
        within = within if k == 0 else further
        for node, around in enumerate(rings):
            values, counts = np.unique(degrees[exactly[node]], return_counts=True)
            found = around[k] if k < len(around) else []
            assert found == list(zip(values.tolist(), counts.tolist(), strict=True))


@given(graphs(max_nodes=40), st.sampled_from([1, 3, EVERY_RING]))
def test_compiled_rings_and_distances_are_those_of_plain_python(graph: Graph, limit: int) -> None:
    pairs = np.random.default_rng(0).integers(0, graph.num_nodes, size=(2, 20))

    def compute() -> tuple[np.ndarray, ...]:
        rings = rings_of(graph, limit)
        return *rings, *ring_distances(rings, pairs)

    for compiled, plain in zip(*compiled_and_plain(compute), strict=True):
        assert np.array_equal(compiled, plain)


def test_sizes_can_be_asked_of_some_nodes() -> None:
    rows, nodes = arrays(connected_graph(60)), np.array([50, 3, 7])
    every = ring_sizes(*rows, EVERY_RING, np.arange(60))
    for some in compiled_and_plain(lambda: ring_sizes(*rows, EVERY_RING, nodes)):
        assert all(np.array_equal(part, whole[nodes]) for part, whole in zip(some, every, strict=True))


# Distances


@given(st.lists(ring_lists, min_size=2, max_size=6))
def test_long_lists_are_compared_the_same_by_compiled_code(lists: list[list[tuple[int, int]]]) -> None:
    rings = rings_with(lists)
    pairs = np.array([(left, right) for left in range(len(lists)) for right in range(len(lists))]).T
    (_, compiled), (_, plain) = compiled_and_plain(lambda: ring_distances(rings, pairs))
    assert np.array_equal(compiled, plain)


@given(ring_lists, ring_lists)
def test_the_fast_distance_is_never_below_the_exact_one(
    left: list[tuple[int, int]], right: list[tuple[int, int]]
) -> None:
    found, path = fast_dtw(left, right)
    exact = full_dtw(left, right)
    assert found >= exact * (1 - 1e-12)
    # Of lists this short every cell is near every path.
    if max(len(left), len(right)) <= 5 or min(len(left), len(right)) <= 2:
        assert found == pytest.approx(exact, rel=1e-12)
    assert path[0] == (0, 0)
    assert path[-1] == (len(left) - 1, len(right) - 1)
    steps = {(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(path)}
    assert steps <= {(0, 1), (1, 0), (1, 1)}
    assert found == pytest.approx(sum(cost(left[i], right[j]) for i, j in path), rel=1e-12)


@given(ring_lists, ring_lists)
def test_over_all_cells_it_is_the_exact_one(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    cells = [(i, j) for i in range(len(left)) for j in range(len(right))]
    assert dtw(left, right, cells)[0] == full_dtw(left, right)


@given(ring_lists)
def test_equal_rings_have_no_distance(ring: list[tuple[int, int]]) -> None:
    assert fast_dtw(ring, ring)[0] == 0
    assert not ring_distances(rings_with([ring, ring]), np.array([[0], [1]]))[1].any()


def test_the_cost_of_two_degrees() -> None:
    assert cost((4, 2), (1, 3)) == cost((1, 3), (4, 2)) == (4.5 / 1.5 - 1) * 3
    assert cost((0, 1), (0, 5)) == 0


def test_distances_add_up_over_the_rings_that_both_have() -> None:
    rings = rings_of(Graph.from_edges(np.array([[0, 1, 2, 4], [1, 2, 3, 5]])))
    starts, distances = ring_distances(rings, np.array([[0, 0, 1], [1, 4, 2]]))
    around = listed(rings)
    expected = [np.cumsum([full_dtw(*both) for both in zip(around[0], around[1], strict=False)]), [0, 1 / 1.5], [0] * 3]
    # Rings of degrees 1, 2, 2, 1 against 1, 1: the first are equal, 2 against 1 costs 2.5 / 1.5 - 1.
    assert starts.tolist() == [0, 3, 5, 8]
    np.testing.assert_allclose(distances, np.concatenate(expected))


def test_the_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = np.random.default_rng(0).integers(0, 200, size=(2, 500))
    results = []
    for threads in (1, 3):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        rings = rings_of(connected_graph(200))
        results.append([*rings, *ring_distances(rings, pairs)])
    assert all(np.array_equal(one, other) for one, other in zip(*results, strict=True))
