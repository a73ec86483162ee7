from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from real_graphs import needs_data
from strategies import graphs

from unifilter.data import ClassSize, NodeDataset, Split, describe, stratified_split
from unifilter.datasets import load_dataset
from unifilter.graph import EdgeFacts, Graph, adjusted_homophily, class_homophily, edge_homophily, node_homophily


def make(graph: Graph, labels: Any) -> NodeDataset:
    return NodeDataset("made", graph, torch.eye(graph.num_nodes), torch.as_tensor(labels))


# Nodes 0 and 1 are joined to the leaves 2 to 6 (all of them to 0, 5 and 6 to 1 as well); 7 and 8 are alone.
TWO_STARS = Graph.from_edges(np.array([[0, 0, 0, 0, 0, 1, 1], [2, 3, 4, 5, 6, 5, 6]]), num_nodes=9)
LABELS = np.array([0, 1, 0, 0, 1, 0, 1, 0, 0])


def split(train: list[int], val: list[int], test: list[int]) -> Split:
    return Split("mine", 2, np.array(train), np.array(val), np.array(test))


def test_duplicates_and_leak_by_hand() -> None:
    # 2, 3, 4 share their neighbor and 5, 6 their two; of these only 2 and 3 also share a label. 7 and 8 have no
    # neighbors to share.
    summary = describe(make(TWO_STARS, LABELS), split([0, 2, 7], [1], [3, 4, 5, 8]))
    assert (summary.nodes, summary.edges, summary.features, summary.classes) == (9, 7, 9, 2)
    assert (summary.isolated, summary.labeled) == (2, 9)
    assert (summary.same_neighbors, summary.duplicates) == (5, 2)
    assert (summary.split, summary.train, summary.val, summary.test) == ("mine [2]", 3, 1, 4)
    assert summary.leak == 1 / 4  # node 3 copies node 2; 4 has another label, 8 no neighbors
    without = describe(make(TWO_STARS, LABELS))
    assert (without.split, without.train, without.val, without.test, without.leak) == (None,) * 5


def test_unknown_labels_are_not_the_same_label() -> None:
    labels = np.where(np.isin(np.arange(9), [2, 3]), -1, LABELS)
    summary = describe(make(TWO_STARS, labels))
    assert (summary.labeled, summary.same_neighbors, summary.duplicates) == (7, 5, 0)


def test_measures_are_those_of_the_homophily_module() -> None:
    dataset = make(TWO_STARS, LABELS)
    summary = describe(dataset)
    assert summary.edge_homophily == edge_homophily(dataset.graph, LABELS)
    assert summary.node_homophily == node_homophily(dataset.graph, LABELS)
    assert summary.class_homophily == class_homophily(dataset.graph, LABELS)
    assert summary.adjusted_homophily == adjusted_homophily(dataset.graph, LABELS)


def test_measures_without_a_value_are_none() -> None:
    one_class = describe(make(TWO_STARS, np.zeros(9, dtype=np.int64)))
    assert (one_class.edge_homophily, one_class.node_homophily) == (1, 1)
    assert (one_class.class_homophily, one_class.adjusted_homophily) == (None, None)
    unlabeled = describe(make(TWO_STARS, np.full(9, -1)))
    assert (unlabeled.edge_homophily, unlabeled.node_homophily, unlabeled.labeled) == (None, None, 0)


@given(graphs(), st.integers(0, 2**32 - 1))
def test_duplicates_by_comparing_all_pairs(graph: Graph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, 2, size=graph.num_nodes)
    joined = graph.adjacency().to_dense().numpy() > 0
    np.fill_diagonal(joined, False)
    neighbors = [tuple(np.flatnonzero(row)) for row in joined]
    same = Counter(own for own in neighbors if own)
    copies = Counter((own, label) for own, label in zip(neighbors, labels, strict=True) if own and label >= 0)
    summary = describe(make(graph, labels))
    assert summary.same_neighbors == sum(count for count in same.values() if count > 1)
    assert summary.duplicates == sum(count for count in copies.values() if count > 1)
    part = rng.integers(3, size=graph.num_nodes)
    train, val, test = (np.flatnonzero((part == i) & (labels >= 0)) for i in range(3))
    if min(len(train), len(val), len(test)) == 0:
        return
    seen = {(neighbors[node], labels[node]) for node in train if neighbors[node]}
    leak = np.mean([(neighbors[node], labels[node]) in seen for node in test])
    assert describe(make(graph, labels), Split("x", 0, train, val, test)).leak == pytest.approx(leak)


def test_a_bad_split_is_refused() -> None:
    with pytest.raises(ValueError, match="node 2 is listed more than once in split 2 of 'mine', in train and test"):
        describe(make(TWO_STARS, LABELS), split([2], [1], [2]))


@needs_data
@pytest.mark.parametrize(
    ("name", "leak"),
    [("chameleon", 47.6), ("squirrel", 41.0), ("chameleon-filtered", 3.1), ("squirrel-filtered", 0.4)],
)
def test_published_leaks(name: str, leak: float) -> None:
    dataset = load_dataset(name)
    masks = next(iter(dataset.splits))
    summary = describe(dataset, dataset.split(masks))
    assert summary.leak is not None
    assert round(100 * summary.leak, 1) == leak
    assert summary.leak <= summary.duplicates / summary.test if summary.test else False


@needs_data
def test_isolated_nodes_of_citeseer_are_nobodys_duplicates() -> None:
    dataset = load_dataset("citeseer")
    summary = describe(dataset, stratified_split(dataset.labels))
    assert (summary.isolated, summary.edges, round(summary.edge_homophily or 0, 4)) == (48, 4552, 0.7355)
    alone = dataset.graph.isolated.numpy()
    connected = Graph.from_edges((np.cumsum(~alone) - 1)[dataset.graph.edges()[0].numpy()])
    without = describe(make(connected, dataset.labels[~torch.from_numpy(alone)]))
    assert (summary.same_neighbors, summary.duplicates) == (without.same_neighbors, without.duplicates)


def test_class_sizes_the_largest_first() -> None:
    labels = torch.tensor([2, 2, 2, 0, 0, -1, -1, -1, -1])
    summary = describe(replace(make(TWO_STARS, LABELS), labels=labels, class_names=("a", "b", "c")))
    assert summary.class_sizes == (ClassSize("c", 3, 0.6), ClassSize("a", 2, 0.4), ClassSize("b", 0, 0.0))
    assert [size.name for size in describe(make(TWO_STARS, LABELS)).class_sizes] == ["0", "1"]
    assert describe(make(TWO_STARS, np.full(9, -1))).class_sizes == ()


def test_what_was_done_to_the_edges_is_told() -> None:
    edges = np.array([[0, 1, 1, 1, 2], [1, 0, 2, 2, 2]])
    summary = describe(make(Graph.from_edges(edges), [0, 1, 0]))
    assert summary.edge_facts == EdgeFacts(given=5, one_directional=1, duplicates=1, self_loops=1, weighted=False)


@pytest.mark.parametrize("sparse", [False, True])
def test_scales_of_the_features(sparse: bool) -> None:
    x = torch.zeros(9, 4)
    x[:, 0] = torch.arange(9.0) * 1000
    x[:, 1] = 7
    x[4, 2] = 0.25
    dataset = replace(make(TWO_STARS, LABELS), features=x.to_sparse_csr() if sparse else x)
    summary = describe(dataset)
    deviations = x.double().numpy().std(axis=0)
    assert summary.nonzero_share == 18 / 36
    assert summary.constant_columns == 2
    assert (summary.smallest_deviation, summary.largest_deviation) == pytest.approx((deviations[2], deviations[0]))
    assert summary.scale_spread == pytest.approx(deviations[0] / deviations[2])
    constant = describe(replace(dataset, features=torch.ones(9, 2)))
    assert (constant.smallest_deviation, constant.largest_deviation, constant.scale_spread) == (None, None, 1)


def test_classes_that_a_split_leaves_out_are_named() -> None:
    labels = np.array([0, 1, 0, 1, 1, 0, 1, 2, 2])
    assert describe(make(TWO_STARS, labels), split([0, 1, 7], [2, 3], [4, 8])).missing_classes == {
        "train": [],
        "val": ["2"],
        "test": ["0"],
    }
    assert describe(make(TWO_STARS, labels)).missing_classes is None
