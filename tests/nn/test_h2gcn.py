from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from dense import propagation_matrix
from strategies import connected_graph

from unifilter import Graph
from unifilter.nn import H2GCN

NODES, CHANNELS, HIDDEN, CLASSES = 40, 9, 6, 3


def as_published(model: H2GCN, x: np.ndarray, graph: Graph) -> np.ndarray:
    """With dense matrices, round by round."""
    adjacency = graph.adjacency(torch.float64).to_dense().numpy()
    far = (adjacency @ adjacency > 0) & (adjacency == 0) & ~np.eye(len(x), dtype=bool)
    first, second = propagation_matrix(graph), propagation_matrix(Graph.from_scipy(far.astype(float)))
    state = {name: value.numpy() for name, value in model.state_dict().items()}
    r = x @ state["embedding.weight"].T
    r = np.maximum(r, 0) if model.relu else r
    parts = [r]
    for _ in range(model.rounds):
        parts.append(np.concatenate([first @ parts[-1], second @ parts[-1]], axis=1))
    logits: np.ndarray = np.concatenate(parts, axis=1) @ state["output.weight"].T
    return logits


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("relu", [True, False])
def test_the_network_is_that_of_the_paper(rounds: int, relu: bool) -> None:
    graph = connected_graph(NODES)
    torch.manual_seed(0)
    model = H2GCN(CHANNELS, HIDDEN, CLASSES, rounds, relu).double().eval()
    x = torch.randn(NODES, CHANNELS, dtype=torch.float64)
    np.testing.assert_allclose(model(x, graph).detach().numpy(), as_published(model, x.numpy(), graph), atol=1e-12)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_both_orders_give_the_same_numbers_and_gradients(rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rounds before the last layer, as in training with dropout, and behind it."""
    monkeypatch.setattr("unifilter.nn.h2gcn.dropout", lambda x, p: x)
    graph, x = connected_graph(NODES), torch.randn(NODES, CHANNELS, dtype=torch.float64)
    model = H2GCN(CHANNELS, HIDDEN, CLASSES, rounds, dropout=0.5).double()
    found = []
    for training in (True, False):
        model.zero_grad()
        logits = model.train(training)(x, graph)
        logits.square().sum().backward()
        found.append([logits, *(parameter.grad.clone() for parameter in model.parameters())])  # type: ignore[union-attr]
    for left, right in zip(*found, strict=True):
        torch.testing.assert_close(left, right)


def test_the_last_layer_reads_what_dropout_leaves_of_all_rounds() -> None:
    graph, x = connected_graph(NODES), torch.rand(NODES, CHANNELS)
    model = H2GCN(CHANNELS, 64, CLASSES, dropout=0.5, relu=False).train()
    seen: list[torch.Tensor] = []
    model.output.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    model(x, graph)
    assert seen[0].shape == (NODES, 7 * 64)
    assert float((seen[0] == 0).float().mean()) == pytest.approx(0.5, abs=0.02)


def test_weights_start_as_those_of_keras() -> None:
    torch.manual_seed(0)
    model = H2GCN(400, 64, CLASSES)
    for layer, fans in ((model.embedding, 400 + 64), (model.output, 7 * 64 + CLASSES)):
        bound = math.sqrt(6 / fans)
        assert 0.9 * bound < float(layer.weight.detach().abs().max()) <= bound
        assert layer.bias is None


def test_nodes_two_hops_away_count_without_the_weights_of_edges() -> None:
    """A path: its ends hear from each other by the second matrix, which is the same for all weights."""
    edges, x = torch.tensor([[0, 1], [1, 2]]), torch.eye(3)
    model = H2GCN(3, 2, 1, rounds=1, relu=False, dropout=0.0).eval()
    with torch.no_grad():
        model.embedding.weight.copy_(torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
        model.output.weight.copy_(torch.tensor([[0.0, 0, 0, 0, 1, 0]]))
        for weight in (None, torch.tensor([5.0, 0.1])):
            assert model(x, edges, weight)[:, 0].tolist() == [0, 0, 1]


def test_a_round_is_needed() -> None:
    with pytest.raises(ValueError, match="rounds must be a whole number of at least 1, not 0: the paper uses 1 or 2"):
        H2GCN(3, 4, 2, rounds=0)
