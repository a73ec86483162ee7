"""AdaptKry: its matrix, the powers that are averaged, its head, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from strategies import connected_graph, signals

from unifilter import Graph
from unifilter._internal import memory
from unifilter.nn import AdaptKry
from unifilter.nn.adaptkry import averaged_powers

NODES, CHANNELS, HOPS = 25, 5, 3
GRAPH = connected_graph(NODES)
X = signals(GRAPH, CHANNELS, 0)


def matrix(graph: Graph, tau: float) -> torch.Tensor:
    adjacency = graph.adjacency(torch.float64).to_dense()
    mixed = tau * adjacency + (1 - tau) * torch.eye(graph.num_nodes, dtype=torch.float64)
    root = mixed.sum(dim=1) ** -0.5
    return root[:, None] * mixed * root


@pytest.mark.parametrize("taus", [(0.5,), (0.1, 1.1), (0.6, 1.0, 1.8)])
def test_powers_are_those_of_the_dense_matrices_averaged(taus: tuple[float, ...]) -> None:
    expected = torch.stack(
        [torch.stack([torch.linalg.matrix_power(matrix(GRAPH, tau), k) @ X for k in range(HOPS + 1)]) for tau in taus]
    ).mean(dim=0)
    torch.testing.assert_close(averaged_powers(GRAPH, X, taus, HOPS), expected)


def test_special_taus_are_matrices_that_are_known() -> None:
    powers = averaged_powers(GRAPH, X, (0.0,), 2)
    torch.testing.assert_close(powers, X.expand(3, -1, -1))
    torch.testing.assert_close(averaged_powers(GRAPH, X, (1.0,), 1)[1], GRAPH.propagate(X))
    # Edges and loops of the same weight: the matrix of GCN.
    torch.testing.assert_close(averaged_powers(GRAPH, X, (0.5,), 1)[1], GRAPH.with_self_loops("add").propagate(X))


def test_a_node_without_neighbors_keeps_its_features_or_has_none() -> None:
    graph = Graph.from_edges(np.array([[0], [1]]), num_nodes=3)
    x = torch.tensor([[1.0], [2.0], [3.0]])
    alone = [float(averaged_powers(graph, x, (tau,), 1)[1, 2]) for tau in (0.3, 1.0, 1.7)]
    assert alone == pytest.approx([3.0, 0.0, 0.0])


def test_the_powers_are_weighted_and_summed_or_given_side_by_side() -> None:
    torch.manual_seed(0)
    powers = averaged_powers(GRAPH, X, (0.5, 0.8), HOPS)
    model = AdaptKry(CHANNELS, 2, HOPS, 7, tau=(0.5, 0.8)).double().eval()
    assert model.hop_weights is not None
    assert torch.equal(model.hop_weights, torch.full((HOPS + 1,), 0.25, dtype=torch.float64))
    with torch.no_grad():
        model.head.filter_weights.normal_()  # type: ignore[union-attr, operator]
        first, last = (dict(model.named_parameters())[f"head.mlp.layers.{layer}.weight"] for layer in (0, 1))
        filtered = torch.einsum("k,knc->nc", model.hop_weights, powers)
        torch.testing.assert_close(model(X, GRAPH), torch.relu(filtered @ first.T) @ last.T)
    beside = AdaptKry(CHANNELS, 2, HOPS, 7, tau=(0.5, 0.8), combine="concatenate").double().eval()
    assert beside.hop_weights is None
    with torch.no_grad():
        first, last = beside.parameters()
        expected = torch.relu(torch.cat(list(powers), dim=1) @ first.T) @ last.T
        torch.testing.assert_close(beside(X, GRAPH), expected)


def test_rows_of_some_nodes_are_enough() -> None:
    nodes = torch.tensor([20, 3])
    for combine in ("weights", "concatenate"):
        model = AdaptKry(CHANNELS, 2, HOPS, combine=combine).double().eval()  # type: ignore[arg-type]
        rows = model.rows_of(X, GRAPH)
        torch.testing.assert_close(model.forward_rows(rows[nodes]), model(X, GRAPH)[nodes])


def test_what_makes_no_sense_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for tau, said in ((-0.5, "-0.5"), ((0.5, float("nan")), "nan"), ((), r"\(\)"), ("half", "'half'")):
        with pytest.raises(
            ValueError, match=f"tau must be a number of at least 0, or several, not ({said}): the paper"
        ):
            AdaptKry(4, 2, tau=tau)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="combine must be one of 'weights', 'concatenate', not 'sum'"):
        AdaptKry(4, 2, combine="sum")  # type: ignore[arg-type]
    light = Graph.from_edges(np.array([[0, 1], [1, 2]]), 3, edge_weight=np.array([3.0, 0.25]))
    with pytest.raises(ValueError, match="node 2 has the degree 0.25, which is too small for tau = 1.5: take a tau of"):
        AdaptKry(1, 2, tau=1.5)(torch.ones(3, 1), light)
    monkeypatch.setattr(memory, "available_bytes", lambda: 10.0)
    with pytest.raises(ValueError, match=r"adaptkry's powers of the features would need about .*: take fewer hops"):
        AdaptKry(CHANNELS, 2).double()(X, GRAPH)
