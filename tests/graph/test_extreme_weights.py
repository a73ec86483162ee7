"""Edge weights of any size: P does not depend on their unit, and nothing silently becomes NaN."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hostile_cases import propagation_matrix
from strategies import connected_graph, signals

from unifilter import Graph, NodeClassifier, factorize

FLOATS = [torch.float32, torch.float64]


def weighted(factor: float, dtype: type = np.float64) -> Graph:
    edges = connected_graph(40).edges()[0].numpy()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, edges.shape[1])
    return Graph.from_edges(edges, 40, (weight * factor).astype(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("factor", [1e-310, 1e-300, 1.1e-46, 1e-20, 1e20, 1e38, 1e300, 5e306])
def test_a_common_factor_of_the_weights_changes_nothing(factor: float, dtype: torch.dtype) -> None:
    graph, scaled = weighted(1.0), weighted(factor)
    # Weights of 1e-310 have fewer digits themselves.
    tolerance = 1e-4 if factor < 1e-300 else 200 * torch.finfo(dtype).eps
    x = signals(graph, 3, 0, dtype)
    close = {"atol": tolerance, "rtol": 0.0}
    torch.testing.assert_close(scaled.propagate(x), graph.propagate(x), **close)
    matrices = (one.propagation_matrix(dtype).to_dense() for one in (scaled, graph))
    torch.testing.assert_close(*matrices, **close)
    expected = factorize(graph, x, 6)
    found = factorize(scaled, x, 6)
    torch.testing.assert_close(found.alpha, expected.alpha, **close)
    torch.testing.assert_close(found.basis("homophily"), expected.basis("homophily"), atol=10 * tolerance, rtol=0.0)


@pytest.mark.parametrize("dtype", FLOATS)
def test_weights_of_all_sizes_in_one_graph(dtype: torch.dtype) -> None:
    graph = connected_graph(40)
    edges = graph.edges()[0].numpy()
    graph = Graph.from_edges(edges, 40, 10.0 ** np.random.default_rng(1).uniform(-300, 300, edges.shape[1]))
    matrix = torch.from_numpy(propagation_matrix(graph))
    x = signals(graph, 4, 0, dtype)
    assert torch.equal(graph.propagation_matrix(dtype).to_dense(), graph.propagation_matrix(dtype).to_dense().T)
    torch.testing.assert_close(graph.propagate(x).double(), matrix @ x.double(), atol=1e-5, rtol=0)
    powers = factorize(graph, x, 3).basis("homophily").double()
    torch.testing.assert_close(powers[3], matrix @ matrix @ matrix @ x.double(), atol=1e-4, rtol=0)


def test_a_node_whose_weights_vanish_beside_the_others_keeps_its_neighbor() -> None:
    # Node 2 hangs on node 1 by almost nothing, but on nothing else: P is the root of that.
    graph = Graph.from_edges(np.array([[0, 1], [1, 2]]), 3, np.array([1.0, 1e-40]))
    found = graph.propagate(torch.tensor([0.0, 1.0, 0.0]))
    assert found.tolist() == pytest.approx([1.0, 0.0, 1e-20])


def test_stored_weights_degrees_and_the_checksum_are_those_that_were_given() -> None:
    graph = weighted(1e-46)
    assert graph.weights is not None
    assert graph.weights.max() < 1e-45
    assert graph.degree.max() < 1e-44
    assert graph.checksum != weighted(1.0).checksum


def test_gaussian_kernel_weights_with_an_outlier_train_a_finite_classifier() -> None:
    random = np.random.default_rng(0)
    points = random.standard_normal((60, 2))
    points[:30] += 2
    points[0] += 9
    ends = np.array([(i, (i + step) % 60) for i in range(60) for step in (1, 2, 30)]).T
    distance = ((points[ends[0]] - points[ends[1]]) ** 2).sum(axis=1)
    graph = Graph.from_edges(ends, 60, np.exp(-distance - 100))
    y = (np.arange(60) >= 30).astype(int)
    model = NodeClassifier("unifilter", tau=0.5, homophily=0.5, epochs=20).fit(graph, points.astype(np.float32), y)
    assert np.isfinite(model.predict_proba()).all()


def test_sums_that_leave_single_precision_are_kept_in_double() -> None:
    graph = Graph.from_edges(np.array([[0, 0, 1], [1, 1, 2]]), 3, np.array([3e38, 3e38, 6e37], np.float32))
    assert graph.weights is not None
    assert graph.weights.dtype == torch.float64
    assert graph.edges()[1].tolist() == pytest.approx([6e38, 6e37])
    assert torch.isfinite(factorize(graph, torch.eye(3), 2).vectors).all()


def test_sums_that_leave_double_precision_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="weights of edge 0 -> 1, which is listed more than once, add up to more than"):
        Graph.from_edges(np.array([[0, 0], [1, 1]]), 2, np.array([1.5e308, 1.5e308]))
    with pytest.raises(ValueError, match="weights at node 1 add up to more than 1.8e\\+308: divide all weights by"):
        Graph.from_edges(np.array([[0, 1], [1, 2]]), 3, np.array([1.5e308, 1.5e308]))


@pytest.mark.parametrize("weight", [1e-60, 1e60])
def test_an_adjacency_that_the_precision_cannot_hold_is_refused(weight: float) -> None:
    graph = Graph.from_edges(np.array([[0], [1]]), 2, np.array([weight]))
    with pytest.raises(ValueError, match="edge 0 -> 1 is 1.0e.*the range of float32: use adjacency.torch.float64"):
        graph.adjacency()
    assert graph.adjacency(torch.float64).values().tolist() == [weight, weight]
