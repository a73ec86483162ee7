from __future__ import annotations

import hashlib

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from real_graphs import needs_data, real_graph

from unifilter.data import NodeDataset
from unifilter.datasets.synthetic import (
    G_S_HOMOPHILY,
    _draw_distinct,
    _triangle,
    binary_tree,
    contextual_sbm,
    cora_relabeled,
    relabeled,
)
from unifilter.graph import Graph, edge_homophily


def digest(dataset: NodeDataset) -> str:
    content = hashlib.sha256()
    for part in (dataset.graph.edges()[0], dataset.labels):
        content.update(part.numpy().tobytes())
    return content.hexdigest()[:16]


@given(st.integers(40, 60), st.integers(2, 4), st.floats(0, 1), st.floats(0.5, 4), st.integers(0, 2**32 - 1))
def test_homophily_is_exact_up_to_rounding(
    num_nodes: int, num_classes: int, homophily: float, degree: float, seed: int
) -> None:
    num_edges = round(num_nodes * degree / 2)  # at most 120, and fewer pairs than that no class has
    dataset = contextual_sbm(num_nodes, num_classes, homophily, degree, 3, seed=seed)
    assert dataset.graph.num_edges == num_edges
    same = dataset.labels[dataset.graph.edges()[0]]
    assert int((same[0] == same[1]).sum()) == round(homophily * num_edges)
    sizes = np.bincount(dataset.labels.numpy())
    assert len(sizes) == num_classes
    assert sizes.max() - sizes.min() <= 1


def test_a_complete_graph_can_be_drawn() -> None:
    # 4 pairs of one class and 5 classes' worth of others: every pair of nodes becomes an edge.
    dataset = contextual_sbm(10, 5, homophily=5 / 45, average_degree=9)
    assert dataset.graph.num_edges == 45


def test_pairs_are_drawn_evenly() -> None:
    # 12 nodes have 66 pairs; 100 graphs of 12 edges draw each about 18 times.
    counts = np.zeros((12, 12))
    for seed in range(100):
        # The share of pairs within a class, so that both kinds of pairs are equally likely.
        dataset = contextual_sbm(12, 2, homophily=30 / 66, average_degree=2, num_features=1, seed=seed)
        edges = dataset.graph.edges()[0]
        counts[edges[0], edges[1]] += 1
    drawn = counts[np.triu_indices(12, 1)]
    assert drawn.sum() == 1200
    spread = ((drawn - drawn.mean()) ** 2 / drawn.mean()).sum()
    assert 25 < spread < 110  # chi-square with 65 degrees of freedom: beyond once in thousands


@given(st.integers(1, 200), st.data())
def test_distinct_numbers_are_distinct(population: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, population))
    drawn = _draw_distinct(np.random.RandomState(count), population, count)
    assert len(set(drawn.tolist())) == len(drawn) == count
    assert all(0 <= number < population for number in drawn)


def test_pairs_are_numbered_without_gaps_even_where_floats_are_short() -> None:
    i, j = _triangle(np.arange(45))
    assert sorted(zip(i.tolist(), j.tolist(), strict=True)) == [(a, b) for a in range(10) for b in range(a + 1, 10)]
    for last in (10**5, 94906267, 10**9):
        corner = last * (last - 1) // 2 + np.array([0, last - 1, last])
        i, j = _triangle(corner)
        assert (i.tolist(), j.tolist()) == ([0, last - 1, 0], [last, last, last + 1])


def test_signal_sets_how_far_class_means_lie_apart() -> None:
    for signal in (0.0, 3.0):
        dataset = contextual_sbm(4000, 2, num_features=8, signal=signal, seed=1)
        means = torch.stack([dataset.features[dataset.labels == label].mean(dim=0) for label in (0, 1)])
        noise = dataset.features - means[dataset.labels]
        assert noise.std() == pytest.approx(1, abs=0.02)
        assert means.norm(dim=1).tolist() == pytest.approx([signal, signal], abs=0.15)


def test_large_graphs_need_no_list_of_pairs() -> None:
    dataset = contextual_sbm(50_000, 5, homophily=0.3, average_degree=4, num_features=1)
    assert dataset.graph.num_edges == 100_000
    assert edge_homophily(dataset.graph, dataset.labels) == 0.3


def test_one_seed_gives_the_same_bits_everywhere() -> None:
    assert digest(contextual_sbm(200, 3, 0.3, 6, 4, 1.0, seed=5)) == "2557f0f1650cafd7"
    assert digest(binary_tree(seed=5)) == "22669d6332fa54eb"
    assert digest(binary_tree(seed=6)) != digest(binary_tree(seed=5))
    assert digest(cora_relabeled(contextual_sbm(seed=5), 0.47, seed=5)) == "88c0c4c6b181da7c"
    assert binary_tree(seed=5).features.argmax(dim=1)[:6].tolist() == [99, 78, 61, 16, 73, 8]
    first, second = (contextual_sbm(200, 3, 0.3, 6, 4, 1.0, seed=5) for _ in range(2))
    assert torch.equal(first.features, second.features)


def test_binary_tree_of_the_paper() -> None:
    tree = binary_tree()
    assert (tree.graph.num_nodes, tree.graph.num_edges, tree.num_features, tree.num_classes) == (127, 126, 100, 3)
    degree = tree.graph.degree.tolist()
    assert (degree[0], set(degree[1:63]), set(degree[63:])) == (2, {3}, {1})
    assert tree.features.sum(dim=1).eq(1).all()
    assert set(tree.features.unique().tolist()) == {0, 1}
    # Walking up from a leaf, the root is six edges away: seven levels.
    level, node = 1, 126
    while node:
        node = int(tree.graph.neighbors[tree.graph.row_start[node]])  # its parent, the smallest of its neighbors
        level += 1
    assert level == 7


def ring(num_nodes: int, num_classes: int) -> tuple[Graph, np.ndarray]:
    """A chain of equal blocks of one class each, closed to a ring: nearly homophilous."""
    nodes = np.arange(num_nodes)
    return Graph.from_edges(np.stack([nodes, (nodes + 1) % num_nodes])), nodes * num_classes // num_nodes


@pytest.mark.parametrize("target", [0.3, 0.5, 0.9, 0.99])
def test_relabeling_reaches_its_target(target: float) -> None:
    graph, labels = ring(1200, 4)
    before = labels.copy()
    result = relabeled(graph, labels, target, seed=2)
    assert abs(result.homophily - target) <= 0.005
    assert result.homophily == edge_homophily(graph, result.labels)
    changed = int((result.labels != labels).sum())
    assert changed <= result.reassigned <= 1200
    assert (result.reassigned > 0) == (abs(edge_homophily(graph, labels) - target) > 0.005)
    np.testing.assert_array_equal(labels, before)


@pytest.mark.parametrize("seed", range(8))
def test_relabeling_stops_where_it_passes_the_target(seed: int) -> None:
    graph, labels = ring(90, 3)
    result = relabeled(graph, labels, 0.35, seed, tolerance=0.05)
    # The same walk, with the homophily counted afresh after every step.
    rng, walk = np.random.RandomState(seed), [labels]
    while edge_homophily(graph, walk[-1]) > 0.35:
        if len(walk) % 90 == 1:
            steps = iter(list(zip(rng.permutation(90), rng.choice(3, 90), strict=True)))
        node, label = next(steps)
        walk.append(np.where(np.arange(90) == node, label, walk[-1]))
    distance = [abs(edge_homophily(graph, passed) - 0.35) for passed in walk]
    assert result.reassigned == int(np.argmin(distance))
    np.testing.assert_array_equal(result.labels, walk[result.reassigned])


def test_relabeling_also_climbs_to_that_of_random_labels() -> None:
    nodes = np.arange(1000)
    graph = Graph.from_edges(np.stack([nodes, (nodes + 1) % 1000]))
    assert edge_homophily(graph, nodes % 2) == 0
    assert relabeled(graph, nodes % 2, 0.4).homophily == pytest.approx(0.4, abs=0.005)


def test_a_further_target_starts_with_the_labels_of_a_nearer_one() -> None:
    graph, labels = ring(1200, 4)
    near, far = (relabeled(graph, labels, target, seed=1) for target in (0.8, 0.5))
    changed = near.labels != labels
    np.testing.assert_array_equal(far.labels[changed], near.labels[changed])
    assert far.reassigned > near.reassigned


def test_unknown_labels_stay_unknown() -> None:
    graph, labels = ring(1200, 3)
    labels = np.where(np.arange(1200) % 5 == 0, -1, labels)
    result = relabeled(graph, torch.from_numpy(labels), 0.5)
    np.testing.assert_array_equal(result.labels == -1, labels == -1)
    assert set(result.labels) == {-1, 0, 1, 2}
    assert result.homophily == edge_homophily(graph, result.labels) == pytest.approx(0.5, abs=0.005)


def test_loops_do_not_count() -> None:
    graph, labels = ring(600, 3)
    looped = Graph.from_edges(graph.edges()[0], self_loops="add")
    np.testing.assert_array_equal(relabeled(looped, labels, 0.5).labels, relabeled(graph, labels, 0.5).labels)


def test_unreachable_targets_are_refused_with_the_closest() -> None:
    graph, labels = ring(600, 4)
    own = edge_homophily(graph, labels)
    with pytest.raises(
        ValueError, match=rf"do not reach a homophily of 0\.05.*the closest was 0\.[12]\d+\. .*{own:.4f} to"
    ):
        relabeled(graph, labels, 0.05)
    result = relabeled(graph, labels, 0.6)
    with pytest.raises(ValueError, match=r"do not reach a homophily of 0\.9 .*about 0\.2500: pass a target in between"):
        relabeled(graph, result.labels, 0.9)


@needs_data
@pytest.mark.parametrize("seed", [0, 1])
def test_the_papers_graphs(seed: int) -> None:
    graph, features, labels = real_graph("cora")
    cora = NodeDataset("cora", graph, torch.from_numpy(features), torch.from_numpy(labels))
    made = [cora_relabeled(cora, homophily, seed) for homophily in G_S_HOMOPHILY]
    for homophily, dataset in zip(G_S_HOMOPHILY, made, strict=True):
        assert edge_homophily(graph, dataset.labels) == pytest.approx(homophily, abs=0.005)
        assert dataset.graph is graph
        assert (dataset.num_features, dataset.num_classes) == (100, 7)
        assert torch.equal(dataset.features, made[0].features)
    assert torch.equal(made[-1].labels, torch.from_numpy(labels))
    assert (made[0].features.sum(dim=1) == 1).all()
    assert made[-1].name == "cora-relabeled"
    assert "0 labels reassigned" in made[-1].source


def test_bad_wishes_are_refused() -> None:
    for wish, message in [
        ({"num_nodes": 0}, "num_nodes must be a whole number of at least 1"),
        ({"num_classes": 0}, "num_classes must be a whole number of at least 1"),
        ({"num_features": 0}, "num_features must be a whole number of at least 1"),
        ({"homophily": 1.5}, r"homophily must lie in \[0, 1\]"),
        ({"num_nodes": 2, "num_classes": 3}, "2 nodes cannot have 3 classes: pass at least one node per class"),
        ({"average_degree": 0}, "average_degree must be positive, not 0: pass the mean number"),
        ({"average_degree": float("inf")}, "average_degree must be positive, not inf"),
        ({"signal": -1.0}, r"signal must not be negative, not -1\.0: pass 0"),
        ({"num_classes": 1, "homophily": 0.5}, "2500 edges between classes.*only 0 such pairs.*a higher homophily"),
        ({"num_nodes": 10, "homophily": 1.0}, "50 edges within a class.*only 20 such pairs of nodes: pass a lower hom"),
    ]:
        with pytest.raises(ValueError, match=message):
            contextual_sbm(**wish)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="depth must be a whole number of at least 1, not 0: pass the number"):
        binary_tree(0)
    with pytest.raises(ValueError, match="no edge has a known label at both ends"):
        relabeled(Graph.from_edges(np.array([[0], [1]])), [0, -1], 0.5)
