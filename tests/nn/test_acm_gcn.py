from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from strategies import connected_graph
from torch import Tensor

from unifilter import Graph
from unifilter.nn import ACMGCN
from unifilter.nn.node_linear import NodeLinear
from unifilter.nn.operators import neighbor_mean, neighbor_sum

NODES, CHANNELS, HIDDEN, CLASSES = 30, 7, 5, 4


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def softmax(x: np.ndarray) -> np.ndarray:
    return np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)


def normalized(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)


def one_layer(
    state: dict[str, np.ndarray], x: np.ndarray, adjacency: np.ndarray, filter_last: bool, layer_norm: bool
) -> np.ndarray:
    """The layer as the paper writes it, channel by channel, with dense matrices."""
    loops = adjacency + np.eye(len(x))
    low = loops / loops.sum(axis=1, keepdims=True)
    w_low, w_high, w_own = (part.T for part in np.split(state["linear.weight"], 3))
    filters = (low, np.eye(len(x)) - low, np.eye(len(x)))
    channels = [
        f @ relu(x @ w) if filter_last else relu(f @ x @ w)
        for f, w in zip(filters, (w_low, w_high, w_own), strict=True)
    ]
    if "structure.weight" in state:
        channels.append(relu(adjacency @ state["structure.weight"]))
    scores = [(normalized(c) if layer_norm else c) @ w for c, w in zip(channels, state["attention"], strict=True)]
    shares = softmax(1 / (1 + np.exp(-np.stack(scores, axis=1))) @ state["mixing"] / len(channels))
    factor = 1 if len(channels) == 4 else 3
    return factor * np.sum([shares[:, [i]] * c for i, c in enumerate(channels)], axis=0)


def state_of(layer: torch.nn.Module) -> dict[str, np.ndarray]:
    return {name: value.numpy() for name, value in layer.state_dict().items()}


@pytest.mark.parametrize(
    ("filter_last", "layer_norm", "residual", "structure"), list(itertools.product([False, True], repeat=4))
)
def test_the_network_is_that_of_the_paper(filter_last: bool, layer_norm: bool, residual: bool, structure: bool) -> None:
    graph = connected_graph(NODES)
    torch.manual_seed(0)
    nodes = NODES if structure else None
    model = ACMGCN(CHANNELS, HIDDEN, CLASSES, 0.5, filter_last, layer_norm, residual, nodes).double().eval()
    x = torch.randn(NODES, CHANNELS, dtype=torch.float64)
    adjacency = graph.adjacency(torch.float64).to_dense().numpy()
    features = x.numpy()
    hidden = relu(one_layer(state_of(model.hidden), features, adjacency, filter_last, layer_norm))
    if model.residual is not None:
        hidden += relu(features @ model.residual.weight.detach().numpy().T + model.residual.bias.detach().numpy())
    expected = one_layer(state_of(model.output), hidden, adjacency, filter_last, layer_norm)
    np.testing.assert_allclose(model(x, graph).detach().numpy(), expected, rtol=1e-9, atol=1e-9)


def test_an_isolated_node_has_no_high_pass() -> None:
    """The mean over itself alone is the node."""
    graph = Graph.from_edges(torch.tensor([[0], [1]]), num_nodes=3, self_loops="add")
    layer, x = ACMGCN(CHANNELS, HIDDEN, CLASSES).hidden, torch.randn(3, CHANNELS)
    found = layer._channels(x, neighbor_mean(graph, x.dtype), None)
    expected = torch.relu(layer.linear(x)).split(HIDDEN, dim=1)
    for channel, wanted in zip(found, (expected[0], torch.zeros(3, HIDDEN), expected[2]), strict=True):
        torch.testing.assert_close(channel[2], wanted[2], atol=1e-6, rtol=0)


def test_only_classes_have_outputs_without_a_sign() -> None:
    graph, x = connected_graph(NODES), torch.randn(NODES, CHANNELS)
    torch.manual_seed(1)
    assert (ACMGCN(CHANNELS, HIDDEN, CLASSES).eval()(x, graph) >= 0).all()
    for filter_last in (False, True):
        signed = ACMGCN(CHANNELS, HIDDEN, CLASSES, filter_last=filter_last, rectified=False).eval()(x, graph)
        assert (signed < 0).any()
        assert (signed > 0).any()


def test_weights_start_within_the_bounds_of_the_authors() -> None:
    torch.manual_seed(0)
    model = ACMGCN(500, 64, CLASSES, layer_norm=True, num_nodes=200)
    bounds = {
        "hidden.linear.weight": 1 / 8, "output.linear.weight": 1 / 2, "hidden.structure.weight": 1 / 8,
        "output.structure.weight": 1 / 2, "hidden.attention": 1.0, "output.mixing": 1 / 2,
    }  # fmt: skip
    found = dict(model.named_parameters())
    for name, bound in bounds.items():
        largest = float(found[name].detach().abs().max())
        assert largest <= bound, name
        assert largest > 0.7 * bound, name


def test_dropout_is_on_the_input_of_both_layers_and_on_the_residual() -> None:
    graph, x = connected_graph(NODES), torch.ones(NODES, 64)
    model = ACMGCN(64, 64, CLASSES, dropout=0.5, residual=True).train()
    seen: list[Tensor] = []
    for layer in (model.hidden, model.output):
        layer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    model(x, graph)
    model.eval()
    model(x, graph)
    zeros = [float((one == 0).float().mean()) for one in seen]
    assert zeros[0] == pytest.approx(0.5, abs=0.05)
    assert zeros[2] == 0
    assert zeros[1] > zeros[3] + 0.1


def test_a_linear_layer_on_nodes_is_torchs_on_the_dense_matrix() -> None:
    graph = connected_graph(NODES)
    ours = NodeLinear(NODES, HIDDEN)
    theirs = torch.nn.Linear(NODES, HIDDEN)
    theirs.load_state_dict({"weight": ours.weight.T, "bias": ours.bias})
    dense = graph.adjacency().to_dense()
    torch.testing.assert_close(ours(neighbor_sum(graph, torch.float32)), theirs(dense))
    bound = 1 / math.sqrt(NODES)
    assert all(0.8 * bound < float(one.detach().abs().max()) <= bound for one in (ours.weight, theirs.weight))
    assert NodeLinear(NODES, HIDDEN, bias=False).bias is None
