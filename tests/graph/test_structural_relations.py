from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import connected_graph, graphs

from unifilter import Graph
from unifilter.graph import structural_relations as module
from unifilter.graph.structural_relations import Relation, nearest_by_degree, structural_relations


@pytest.fixture
def relations_of(tmp_path: Path) -> Callable[..., list[Relation]]:
    return lambda graph, layers=None: structural_relations(graph, layers, cache_dir=tmp_path)


def fresh_relations(graph: Graph) -> list[Relation]:
    """Computed, not read."""
    found = module._distances(graph.with_self_loops("remove"), graph.num_nodes)
    return module._relations(graph.num_nodes, **found)


def dense(relation: Relation) -> np.ndarray:
    nodes = len(relation.starts) - 1
    matrix = np.zeros((nodes, nodes))
    rows = np.repeat(np.arange(nodes), np.diff(relation.starts))
    matrix[rows, relation.columns] = relation.weights
    return matrix


def ring(nodes: int) -> Graph:
    return Graph.from_edges(np.stack([np.arange(nodes), (np.arange(nodes) + 1) % nodes]))


# Candidates


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60).map(np.array))
def test_every_node_is_compared_with_those_of_nearest_degree(degree: np.ndarray) -> None:
    nodes = len(degree)
    count = min(math.floor(2 * math.log2(nodes)) + 1, nodes - 1)
    expected = set()
    for node in range(nodes):
        others = [other for other in range(nodes) if other != node]
        # The nearest, the larger of two as near, the smaller index of two with the same degree.
        others.sort(key=lambda other: (abs(degree[other] - degree[node]), -degree[other], other))
        expected |= {(min(node, other), max(node, other)) for other in others[:count]}
    found = nearest_by_degree(degree)
    assert found.dtype == np.int32
    assert sorted(zip(*found.tolist(), strict=True)) == sorted(expected)


# Relations


@given(graphs())
def test_weights_of_a_column_sum_to_one_and_relations_go_both_ways(graph: Graph) -> None:
    previous = None
    for relation in fresh_relations(graph):
        matrix = dense(relation)
        assert not np.diag(matrix).any()
        entries = np.zeros_like(matrix, dtype=bool)
        entries[np.repeat(np.arange(len(matrix)), np.diff(relation.starts)), relation.columns] = True
        assert np.array_equal(entries, entries.T)
        assert len(relation.columns) == entries.sum()  # every pair once
        np.testing.assert_allclose(matrix.sum(axis=0), entries.any(axis=0), atol=1e-6)
        # Who has a ring of k hops has one of k - 1.
        assert previous is None or not (entries & ~previous).any()
        previous = entries


def test_weights_fall_with_the_distance(relations_of: Callable[..., list[Relation]]) -> None:
    graph = connected_graph(40)
    found = module._distances(graph, 40)
    for layer, relation in enumerate(relations_of(graph)):
        reached = np.diff(found["starts"]) > layer
        distance = np.full((40, 40), np.inf)
        left, right = found["pairs"][:, reached]
        distance[left, right] = distance[right, left] = found["distances"][found["starts"][:-1][reached] + layer]
        weights = np.exp(-distance.astype(np.longdouble))
        sums = weights.sum(axis=0)
        expected = np.divide(weights, sums, where=sums > 0, out=np.zeros_like(weights))
        np.testing.assert_allclose(dense(relation), expected.astype(float), atol=1e-6)


def test_all_nodes_of_a_ring_are_alike(relations_of: Callable[..., list[Relation]]) -> None:
    relations = relations_of(ring(20))
    assert len(relations) == 11  # the opposite node is 10 hops away
    for relation in relations:
        matrix = dense(relation)
        per_column = (matrix > 0).sum(axis=0)
        np.testing.assert_allclose(matrix[matrix > 0], (1 / per_column)[np.nonzero(matrix)[1]], rtol=1e-6)
    assert not module._distances(ring(20), 20)["distances"].any()


def test_far_nodes_have_weights_too(relations_of: Callable[..., list[Relation]]) -> None:
    """All leaves of a star are alike, and nobody is like its center: exp(-distance) would be zero there."""
    star = Graph.from_edges(np.stack([np.zeros(2000, int), np.arange(1, 2001)]))
    assert module._distances(star, 2)["distances"].max() > 800
    for relation in relations_of(star, 2):
        weights = dense(relation)
        assert np.isfinite(weights).all()
        assert weights[:, 0].sum() == pytest.approx(1)
        assert weights[0, 1:].max() < 1e-6


def test_a_node_alone_and_a_graph_without_edges(relations_of: Callable[..., list[Relation]]) -> None:
    (alone,) = relations_of(Graph.from_edges(np.zeros((2, 0), int), num_nodes=1))
    assert (alone.starts.tolist(), len(alone.columns)) == ([0, 0], 0)
    (all_alike,) = relations_of(Graph.from_edges(np.zeros((2, 0), int), num_nodes=5))
    np.testing.assert_allclose(dense(all_alike), (1 - np.eye(5)) / 4)


def test_fewer_layers_are_the_first_ones(relations_of: Callable[..., list[Relation]]) -> None:
    graph = connected_graph(60)
    every, two = relations_of(graph), relations_of(graph, 2)
    assert len(every) > 2 == len(two)
    for left, right in zip(every, two, strict=False):
        assert all(torch.equal(one, other) for one, other in zip(left, right, strict=True))


def test_weights_and_loops_of_the_graph_play_no_part(relations_of: Callable[..., list[Relation]]) -> None:
    edges, _ = connected_graph(30).edges()
    plain = relations_of(Graph.from_edges(edges))
    other = relations_of(Graph.from_edges(edges, edge_weight=torch.rand(edges.shape[1]) + 1, self_loops="add"))
    assert all(np.array_equal(dense(one), dense(two)) for one, two in zip(plain, other, strict=True))


# Cost


def test_distances_are_kept_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNIFILTER_CACHE", str(tmp_path))
    graph = connected_graph(30)
    first = structural_relations(graph)
    assert len(list((tmp_path / "structural-distances").glob(f"{graph.checksum}-all.npz"))) == 1
    monkeypatch.setattr(module, "_distances", None)  # whoever computes calls nothing
    assert all(torch.equal(a.weights, b.weights) for a, b in zip(first, structural_relations(graph), strict=True))


def test_what_does_not_fit_into_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unifilter._internal.memory.available_bytes", lambda: 1e4)
    message = (
        r"the structural distances of 500 nodes would need about .* kB, and 10.0 kB of memory are free: "
        "take fewer structural layers, or another method"
    )
    with pytest.raises(ValueError, match=message):
        structural_relations(connected_graph(500), cache_dir=tmp_path)


@pytest.mark.parametrize(("compiled", "remedy"), [(True, "take fewer"), (False, "install numba, which is a")])
def test_what_takes_too_long_is_refused_at_once(
    compiled: bool, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unifilter.kernels.backend._numba_chosen", lambda: compiled)
    monkeypatch.setattr(module, "_SPEED", {compiled: module._Speed(edges=20.0, elements=1e6)})
    started = time.monotonic()
    with pytest.raises(
        ValueError, match=rf"of 500 nodes would take about \d+ hours, more than the limit of 3: {remedy}"
    ):
        structural_relations(connected_graph(500), cache_dir=tmp_path)
    assert time.monotonic() - started < 5


def test_no_layers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="layers must be a whole number of at least 1, not 0: leave it out"):
        structural_relations(ring(5), 0, cache_dir=tmp_path)
