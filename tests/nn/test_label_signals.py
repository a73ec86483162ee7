"""Training labels as signals: mean labels of random walks, without a node's own label."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unifilter import Graph
from unifilter.nn import MLP, LabelSignals

NODES, CLASSES, HOPS = 12, 3, 4


def random_graph(seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    return Graph.from_edges(torch.from_numpy(rng.integers(0, NODES, (2, 20))), NODES)


def model_of(labels: torch.Tensor, train: torch.Tensor, folds: int = 3, separate: bool = False) -> LabelSignals:
    torch.manual_seed(0)
    model = LabelSignals(MLP(5, 8, labels.shape[1]), NODES, labels.shape[1], separate, HOPS, folds).double().eval()
    model.attach_labels(labels, train)
    return model


def one_hot(seed: int) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    return torch.nn.functional.one_hot(torch.from_numpy(rng.integers(0, CLASSES, NODES)), CLASSES).double()


def dense_rows(graph: Graph, labels: torch.Tensor, known: torch.Tensor) -> torch.Tensor:
    """Mean labels and shares from powers of the dense random walk matrix."""
    adjacency = graph.adjacency(torch.float64).to_dense()
    walk = adjacency / adjacency.sum(dim=1, keepdim=True).clamp_min(1)
    found, power = [], torch.eye(NODES, dtype=torch.float64)
    for _ in range(HOPS):
        power = power @ walk
        share = power @ known
        found += [torch.where(share > 0, power @ labels / torch.where(share > 0, share, 1.0), 0.0), share]
    return torch.cat(found, dim=1)


@given(seed=st.integers(0, 1000))
def test_signals_are_mean_labels_at_the_end_of_random_walks(seed: int) -> None:
    graph, labels = random_graph(seed), one_hot(seed)
    train = torch.arange(0, NODES, 2)
    model = model_of(labels, train)
    rows = model.rows(graph)
    known = torch.zeros(NODES, 1, dtype=torch.float64)
    known[train] = 1
    expected = dense_rows(graph, labels * known, known)
    other = model.fold < 0
    torch.testing.assert_close(rows[other], expected[other])
    for fold in range(3):
        hidden = known * (model.fold != fold)[:, None]
        of_fold = model.fold == fold
        torch.testing.assert_close(rows[of_fold], dense_rows(graph, labels * hidden, hidden)[of_fold])


@given(seed=st.integers(0, 1000), node=st.sampled_from(range(0, NODES, 2)))
def test_a_training_node_never_reads_its_own_label(seed: int, node: int) -> None:
    graph, labels = random_graph(seed), one_hot(seed)
    train = torch.arange(0, NODES, 2)
    changed = labels.clone()
    changed[node] = labels[node].roll(1)
    before, after = (model_of(some, train).rows(graph) for some in (labels, changed))
    torch.testing.assert_close(before[node], after[node], rtol=0, atol=0)


def test_labels_of_other_nodes_are_not_read() -> None:
    graph, labels = random_graph(1), one_hot(1)
    train = torch.tensor([0, 2, 4])
    changed = labels.clone()
    changed[[1, 3, 5]] = torch.nan
    before, after = (model_of(some, train).rows(graph) for some in (labels, changed))
    torch.testing.assert_close(before, after, rtol=0, atol=0)
    assert before.abs().sum() > 0


def test_targets_are_known_one_by_one() -> None:
    graph = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]), NODES)
    targets = torch.full((NODES, 2), torch.nan, dtype=torch.float64)
    targets[0], targets[2, 1] = torch.tensor([1.0, 4.0]), 2.0
    rows = model_of(targets, torch.tensor([0, 2]), separate=True).rows(graph)
    # Node 1 has the neighbors 0 and 2: the first target is known at 0 alone, the second has the mean 3.
    torch.testing.assert_close(rows[1, :4], torch.tensor([1.0, 3.0, 0.5, 1.0], dtype=torch.float64))


def test_the_model_is_the_sum_of_both_networks() -> None:
    graph, labels = random_graph(2), one_hot(2)
    model, x = model_of(labels, torch.arange(6)), torch.randn(NODES, 5, dtype=torch.float64)
    torch.testing.assert_close(model(x, graph), model.network(x, graph) + model.mlp(model.rows(graph)))


def test_other_labels_are_seen_on_the_same_graph() -> None:
    graph, train = random_graph(3), torch.arange(6)
    model, other = model_of(one_hot(3), train), model_of(one_hot(4), train)
    x = torch.randn(NODES, 5, dtype=torch.float64)
    assert not torch.equal(model(x, graph), other(x, graph))
    model.load_state_dict(other.state_dict())
    torch.testing.assert_close(model(x, graph), other(x, graph), rtol=0, atol=0)


def test_another_graph_is_refused() -> None:
    model = model_of(one_hot(0), torch.arange(6))
    with pytest.raises(ValueError, match=r"the 12 nodes it was trained on, and this graph has 2"):
        model(torch.randn(2, 5, dtype=torch.float64), torch.tensor([[0], [1]]))


def test_a_single_fold_is_refused() -> None:
    with pytest.raises(ValueError, match=r"label_folds is 1, which would hide all labels .* use at least 2"):
        LabelSignals(MLP(5, 8, 3), NODES, 3, label_folds=1)
