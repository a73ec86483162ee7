"""Homophily of numbers and of label sets, against that of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import graphs

from unifilter import Graph, edge_homophily
from unifilter.graph import label_set_homophily, value_homophily

PATH = Graph.from_edges(torch.tensor([[0, 1, 2], [1, 2, 3]]))
SQUARE = Graph.from_edges(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))


def some_values(graph: Graph, seed: int, columns: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((graph.num_nodes, columns))


@given(graphs(max_nodes=10), st.integers(0, 2**32 - 1))
def test_two_classes_with_equally_many_edge_ends_have_the_edge_homophily(graph: Graph, seed: int) -> None:
    # The graph and its copy with the classes exchanged: each class has half of the ends.
    edges, nodes = graph.edges()[0], graph.num_nodes
    assume(edges.shape[1] > 0)
    labels = np.random.default_rng(seed).integers(0, 2, nodes)
    both = Graph.from_edges(torch.cat([edges, edges + nodes], dim=1), num_nodes=2 * nodes)
    classes = np.concatenate([labels, 1 - labels])
    expected = edge_homophily(both, classes)
    assert value_homophily(both, classes) == pytest.approx(expected)
    assert value_homophily(both, np.where(classes == 1, 40.0, -7.0)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("values", "homophily"),
    [
        ([1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 5.0], 1.0),  # two squares, each of one value
        ([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0], 0.0),
        ([1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0], 0.5),  # one neighbor alike, one opposite
    ],
)
def test_the_same_opposite_and_unrelated(values: list[float], homophily: float) -> None:
    edges = SQUARE.edges()[0]
    squares = Graph.from_edges(torch.cat([edges, edges + 4], dim=1))
    assert value_homophily(squares, values) == pytest.approx(homophily)


def test_random_numbers_have_a_half() -> None:
    random = np.random.default_rng(0)
    graph = Graph.from_edges(random.integers(0, 2000, (2, 20_000)), num_nodes=2000)
    # The correlation of unrelated ends has the standard deviation 1 / sqrt(edges).
    assert value_homophily(graph, random.standard_normal(2000)) == pytest.approx(0.5, abs=5 / 2 / np.sqrt(20_000))


@given(graphs(), st.integers(0, 2**32 - 1), st.floats(0.01, 100), st.floats(-100, 100), st.sampled_from([-1, 1]))
def test_unit_and_origin_do_not_matter(graph: Graph, seed: int, scale: float, shift: float, sign: int) -> None:
    assume(graph.num_edges > 0)
    values = some_values(graph, seed)
    found = value_homophily(graph, values)
    assert 0 <= found <= 1
    assert value_homophily(graph, sign * scale * values + shift) == pytest.approx(found, abs=1e-6)


@given(graphs(), st.integers(0, 2**32 - 1))
def test_it_is_the_correlation_over_both_directions(graph: Graph, seed: int) -> None:
    assume(graph.num_edges > 0)
    values = some_values(graph, seed)
    sources, ends = graph.edges()[0].numpy()
    both = np.stack([np.concatenate([sources, ends]), np.concatenate([ends, sources])])
    expected = (1 + np.corrcoef(values[both, 0])[0, 1]) / 2
    assert value_homophily(graph, values) == pytest.approx(expected, abs=1e-9)


def test_of_several_targets_the_mean_of_those_that_have_one() -> None:
    first, second = [1.0, -1.0, 1.0, -1.0], [1.0, 2.0, 4.0, 4.5]
    both = np.stack([first, second], axis=1)
    expected = (value_homophily(PATH, first) + value_homophily(PATH, second)) / 2
    assert value_homophily(PATH, both) == pytest.approx(expected)
    unknown = np.stack([first, np.full(4, np.nan), np.full(4, 0.1)], axis=1)
    assert value_homophily(PATH, unknown) == value_homophily(PATH, first)


def test_only_edges_between_known_nodes_count() -> None:
    values = [1.0, -1.0, 1.0, np.nan]
    shorter = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
    assert value_homophily(PATH, values) == value_homophily(shorter, values[:3])
    labels = np.array([[1, 0], [1, 1], [np.nan, np.nan], [0, 1]])
    assert label_set_homophily(PATH, labels) == 0.5


@given(graphs(), st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_one_label_per_node_has_the_edge_homophily(graph: Graph, seed: int, classes: int) -> None:
    random = np.random.default_rng(seed)
    labels = random.integers(0, classes, graph.num_nodes)
    labels[random.random(graph.num_nodes) < 0.3] = -1
    one_hot = np.where(labels[:, None] < 0, np.nan, np.eye(classes)[labels])
    try:
        expected = edge_homophily(graph, labels)
    except ValueError:
        with pytest.raises(ValueError, match="no edge joins two nodes with known labels"):
            label_set_homophily(graph, one_hot)
    else:
        assert label_set_homophily(graph, one_hot) == pytest.approx(expected)


def test_two_nodes_without_labels_do_not_count_and_unknown_labels_are_not_there() -> None:
    assert label_set_homophily(PATH, [[0, 0], [0, 0], [1, 0], [1, 1]]) == pytest.approx((0 + 1 / 2) / 2)
    assert label_set_homophily(PATH, [[1, 1], [1, np.nan], [1, 0], [1, 0]]) == pytest.approx((1 / 2 + 1 + 1) / 3)


@pytest.mark.parametrize(
    ("measure", "values", "message"),
    [
        (value_homophily, [1.0, np.nan, 1.0, np.nan], "no edge joins two nodes with known targets, .* homophily=0.5"),
        (value_homophily, [0.1] * 4, "or all such targets are equal, so homophily cannot be estimated: pass a value"),
        (value_homophily, [1.0, 2.0], r"values must have one row per node, 4 in all, but has shape \[2\]"),
        (value_homophily, [1.0, 2.0, -np.inf, 0.0], "the value of node 2 is infinite: correct it, or set it to NaN"),
        (label_set_homophily, np.zeros((4, 2)), "no edge joins two nodes with known labels, at least one of which"),
        (
            label_set_homophily,
            np.zeros((3, 2)),
            r"targets must have one row per node, 4 in all, but has shape \[3, 2\]",
        ),
        (label_set_homophily, [[0, 1], [0, 2], [1, 1], [0, 0]], "label 1 of node 1 is 2: pass 1, 0, or NaN if"),
    ],
)
def test_what_cannot_be_measured_says_so(measure: Any, values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure(PATH, values)
