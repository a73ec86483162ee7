from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from real_graphs import needs_data, real_graph
from torch_geometric.utils import homophily as pyg_homophily

from unifilter._internal.checks import check_fraction
from unifilter.graph import Graph
from unifilter.graph.homophily import (
    HomophilyEstimate,
    adjusted_homophily,
    class_homophily,
    edge_homophily,
    estimate_homophily,
    node_homophily,
)

Measure = Callable[[Graph, Any], float]
MEASURES: list[Measure] = [edge_homophily, node_homophily, class_homophily, adjusted_homophily]

# The bull: a triangle 0-1-2 with horns 1-3 and 2-4.
BULL = Graph.from_edges(np.array([[0, 0, 1, 1, 2], [1, 2, 2, 3, 4]]))
BULL_LABELS = np.array([0, 0, 1, 0, 1])


def random_graph(seed: int, num_nodes: int = 40, num_classes: int = 3) -> tuple[Graph, np.ndarray]:
    rng = np.random.default_rng(seed)
    # A cycle first, so that no node is isolated.
    cycle = np.stack([np.arange(num_nodes), (np.arange(num_nodes) + 1) % num_nodes])
    edges = np.concatenate([cycle, rng.integers(num_nodes, size=(2, 120))], axis=1)
    labels = np.concatenate([np.arange(num_classes), rng.integers(num_classes, size=num_nodes - num_classes)])
    return Graph.from_edges(edges, num_nodes=num_nodes), labels


def test_measures_by_hand() -> None:
    # Edges 0-1, 1-3 and 2-4 agree, 0-2 and 1-2 do not.
    assert edge_homophily(BULL, BULL_LABELS) == pytest.approx(3 / 5)
    assert node_homophily(BULL, BULL_LABELS) == pytest.approx((1 / 2 + 2 / 3 + 1 / 3 + 1 + 1) / 5)
    # Class 0 has 3 of 5 nodes and degree 6, 4 of it inside; class 1 has 2 nodes and degree 4, 2 of it inside.
    assert class_homophily(BULL, BULL_LABELS) == pytest.approx((4 / 6 - 3 / 5) + (2 / 4 - 2 / 5))
    chance = (6 / 10) ** 2 + (4 / 10) ** 2
    assert adjusted_homophily(BULL, BULL_LABELS) == pytest.approx((3 / 5 - chance) / (1 - chance))


def test_unknown_labels_are_never_counted() -> None:
    labels = np.array([0, 0, 1, -1, 1])  # leaves edges 0-1 and 2-4 (agree), 0-2 and 1-2 (do not)
    assert edge_homophily(BULL, labels) == pytest.approx(2 / 4)
    assert node_homophily(BULL, labels) == pytest.approx((1 / 2 + 1 / 2 + 1 / 3 + 1) / 4)
    assert class_homophily(BULL, labels) == pytest.approx(max(0, 2 / 4 - 2 / 4) + max(0, 2 / 4 - 2 / 4))
    assert adjusted_homophily(BULL, labels) == pytest.approx((2 / 4 - 1 / 2) / (1 - 1 / 2))


@pytest.mark.parametrize("measure", MEASURES)
def test_unknown_nodes_count_as_if_they_were_absent(measure: Measure) -> None:
    graph, labels = random_graph(seed=5)
    kept = np.arange(40) % 4 != 0
    edges = graph.edges()[0].numpy()
    edges = edges[:, kept[edges].all(axis=0)]
    number = np.cumsum(kept) - 1
    smaller = Graph.from_edges(number[edges], num_nodes=int(kept.sum()))
    assert measure(graph, np.where(kept, labels, -1)) == pytest.approx(measure(smaller, labels[kept]))


@pytest.mark.parametrize("measure", MEASURES)
def test_measures_ignore_weights_loops_and_the_kind_of_labels(measure: Measure) -> None:
    graph, labels = random_graph(seed=3)
    edges = graph.edges()[0]
    value = measure(graph, labels)
    assert type(value) is float
    assert measure(graph, torch.from_numpy(labels)) == value
    weights = torch.rand(edges.shape[1]) + 0.1
    assert measure(Graph.from_edges(edges, num_nodes=40, edge_weight=weights), labels) == value
    assert measure(Graph.from_edges(edges, num_nodes=40, self_loops="add"), labels) == value


@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_agreement_with_pyg(seed: int, num_classes: int) -> None:
    graph, labels = random_graph(seed, num_classes=num_classes)
    one_way = graph.edges()[0]
    both_ways = torch.cat([one_way, one_way.flip(0)], dim=1)
    y = torch.from_numpy(labels)
    for measure, method in [(edge_homophily, "edge"), (node_homophily, "node"), (class_homophily, "edge_insensitive")]:
        assert measure(graph, labels) == pytest.approx(pyg_homophily(both_ways, y, method=method), abs=1e-6)


@given(st.integers(0, 2**32 - 1), st.permutations(range(3)))
def test_measures_do_not_depend_on_the_names_of_classes(seed: int, names: list[int]) -> None:
    graph, labels = random_graph(seed)
    for measure in MEASURES:
        assert measure(graph, np.array(names)[labels]) == pytest.approx(measure(graph, labels))


@pytest.mark.parametrize("measure", MEASURES)
def test_classes_without_nodes_do_not_count(measure: Measure) -> None:
    assert measure(BULL, BULL_LABELS * 7) == pytest.approx(measure(BULL, BULL_LABELS))


@pytest.mark.parametrize("measure", MEASURES)
def test_perfect_homophily_is_one(measure: Measure) -> None:
    pairs = Graph.from_edges(np.array([[0, 2], [1, 3]]))
    assert measure(pairs, np.array([0, 0, 1, 1])) == 1


def test_isolated_nodes_have_no_share_in_node_homophily() -> None:
    with_isolated = Graph.from_edges(BULL.edges()[0], num_nodes=7)
    labels = np.append(BULL_LABELS, [0, 1])
    assert node_homophily(with_isolated, labels) == node_homophily(BULL, BULL_LABELS)


@pytest.mark.parametrize("measure", MEASURES)
def test_no_edge_with_known_labels(measure: Measure) -> None:
    with pytest.raises(ValueError, match="no edge has a known label at both ends.*pass more labels"):
        measure(BULL, np.array([0, -1, -1, 1, 1]))


def test_one_class_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="all known labels are equal: pass at least two"):
        class_homophily(BULL, np.array([2, 2, 2, 2, -1]))
    with pytest.raises(ValueError, match="every edge joins nodes of one and the same class.*at least two classes"):
        adjusted_homophily(BULL, np.array([2, 2, 2, 2, -1]))


@pytest.mark.parametrize("measure", MEASURES)
def test_labels_of_the_wrong_length(measure: Measure) -> None:
    with pytest.raises(ValueError, match=r"labels must have one class index per node, shape \[5\], not \[4\]"):
        measure(BULL, BULL_LABELS[:4])


def test_estimate_counts_training_edges_only() -> None:
    estimate = estimate_homophily(BULL, BULL_LABELS, train=[0, 1, 2, 3])
    assert estimate == pytest.approx(2 / 4)
    assert estimate.num_edges == 4
    # Nodes 0, 1, 2, 3 have 1, 2, 0, 1 agreeing edges of 2, 3, 2, 1; four fifths of the nodes are drawn.
    jackknife = (0 / 2) ** 2 + (0.5 / 1) ** 2 + (1 / 2) ** 2 + (0.5 / 3) ** 2
    binomial = 0.25 / 4
    variance = 0.2**2 * binomial + 0.2 * (jackknife - 2 * 0.2 * binomial)
    assert estimate.standard_error == pytest.approx(variance**0.5)


def test_estimate_takes_a_mask_or_indices_and_skips_unknown_training_labels() -> None:
    mask = torch.tensor([True, True, True, True, False])
    expected = estimate_homophily(BULL, BULL_LABELS, mask)
    by_index = estimate_homophily(BULL, torch.from_numpy(BULL_LABELS), torch.tensor([3, 2, 1, 0]))
    assert (by_index, by_index.standard_error) == (expected, expected.standard_error)
    unknown = np.array([0, 0, 1, 0, -1])
    with_unknown = estimate_homophily(BULL, unknown, np.ones(5, dtype=bool))
    assert (with_unknown, with_unknown.standard_error) == (expected, expected.standard_error)


@given(st.integers(0, 2**32 - 1))
def test_labels_outside_the_training_set_do_not_matter(seed: int) -> None:
    graph, labels = random_graph(seed)
    rng = np.random.default_rng(seed)
    train = rng.random(40) < 0.6
    before = estimate_homophily(graph, labels, train)
    changed = np.where(train, labels, rng.integers(-1, 9, size=40))
    after = estimate_homophily(graph, changed, train)
    assert (before, before.standard_error, before.num_edges) == (after, after.standard_error, after.num_edges)


def test_the_whole_graph_has_no_error() -> None:
    estimate = estimate_homophily(BULL, BULL_LABELS, np.ones(5, dtype=bool))
    assert estimate == edge_homophily(BULL, BULL_LABELS)
    assert estimate.standard_error == 0


def test_a_star_has_a_finite_error() -> None:
    star = Graph.from_edges(np.array([[0, 0, 0], [1, 2, 3]]), num_nodes=6)
    estimate = estimate_homophily(star, np.array([0, 0, 1, 1, 0, 0]), train=[0, 1, 2, 3])
    assert 0 < estimate.standard_error < 1


def test_no_edge_between_training_nodes() -> None:
    with pytest.raises(ValueError, match=r"no edge joins two training nodes.*pass a value instead.*homophily=0\.5"):
        estimate_homophily(BULL, BULL_LABELS, train=[0, 3, 4])


def test_estimate_is_a_number_that_keeps_its_error() -> None:
    estimate = HomophilyEstimate(0.8123, 0.0104, 3201)
    assert repr(estimate) == "HomophilyEstimate(0.81 ± 0.01 from 3,201 edges)"
    assert repr(HomophilyEstimate(0.8123, 0.0014, 1)) == "HomophilyEstimate(0.812 ± 0.001 from 1 edge)"
    assert repr(HomophilyEstimate(0.5, 0.0, 2)) == "HomophilyEstimate(0.5000 ± 0.0000 from 2 edges)"
    assert str(estimate) == f"{estimate}" == json.dumps(estimate) == "0.8123"
    assert check_fraction("homophily", estimate) == 0.8123
    for copied in (copy.deepcopy(estimate), pickle.loads(pickle.dumps(estimate))):
        assert isinstance(copied, HomophilyEstimate)
        assert (copied, copied.standard_error, copied.num_edges) == (0.8123, 0.0104, 3201)


def reported_against_true_error(graph: Graph, labels: np.ndarray, share: float, draws: int) -> float:
    rng = np.random.default_rng(0)
    size = int(share * graph.num_nodes)
    estimates = [estimate_homophily(graph, labels, rng.permutation(graph.num_nodes)[:size]) for _ in range(draws)]
    reported = float(np.mean([estimate.standard_error for estimate in estimates]))
    return reported / float(np.std([float(estimate) for estimate in estimates], ddof=1))


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_standard_error_is_the_spread_of_the_estimates(share: float) -> None:
    # Mixed classes of unequal size and degree, so that nodes differ and their edges are far from independent.
    rng = np.random.default_rng(1)
    labels = rng.integers(3, size=1500)
    pull = rng.pareto(3.0, size=1500) * (1 + labels)
    ends = rng.choice(1500, size=(2, 12000), p=pull / pull.sum())
    kept = (labels[ends[0]] == labels[ends[1]]) | (rng.random(12000) < 0.3)
    graph = Graph.from_edges(ends[:, kept], num_nodes=1500)
    assert reported_against_true_error(graph, labels, share, draws=150) == pytest.approx(1, abs=0.25)


@needs_data
@pytest.mark.parametrize("name", ["cora", "chameleon"])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_standard_error_on_real_graphs(name: str, share: float) -> None:
    graph, _, labels = real_graph(name)
    assert reported_against_true_error(graph, labels, share, draws=150) == pytest.approx(1, abs=0.25)


@needs_data
@pytest.mark.parametrize(
    ("name", "num_edges", "homophily", "decimals"),
    [
        ("cora", 5278, 0.8100, 4),
        ("citeseer", 4552, 0.7355, 4),
        ("chameleon", 31371, 0.2299, 4),
        ("squirrel", 198353, 0.2221, 4),
        ("actor", 26659, 0.2167, 4),
        ("texas", 279, 0.061, 3),
        ("minesweeper", 39402, 0.6828, 4),
    ],
)
def test_published_figures(name: str, num_edges: int, homophily: float, decimals: int) -> None:
    graph, _, labels = real_graph(name)
    assert graph.num_edges == num_edges
    assert round(edge_homophily(graph, labels), decimals) == homophily


@needs_data
def test_adjusted_homophily_of_minesweeper() -> None:
    graph, _, labels = real_graph("minesweeper")
    assert round(adjusted_homophily(graph, labels), 3) == 0.009


@pytest.mark.parametrize("measure", MEASURES)
def test_measures_do_not_depend_on_how_classes_are_numbered(measure: Measure) -> None:
    graph = Graph.from_edges(torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 4, 4]]))
    small, large = torch.tensor([0, 0, 1, 2, 2]), torch.tensor([7, 7, 10**12, 2**63 - 1, 2**63 - 1])
    assert measure(graph, large) == measure(graph, small)
    assert estimate_homophily(graph, large, [0, 1, 2, 3]) == estimate_homophily(graph, small, [0, 1, 2, 3])
