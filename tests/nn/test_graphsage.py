from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import graphs, signals

from unifilter import Graph
from unifilter.nn import GraphSAGE


@given(graph=graphs(), layers=st.integers(1, 3))
def test_logits_are_those_of_the_equation(graph: Graph, layers: int) -> None:
    torch.manual_seed(0)
    model = GraphSAGE(5, 4, 3, layers).double().eval()
    adjacency = graph.with_self_loops("remove").adjacency(torch.float64).to_dense().numpy()
    degree = adjacency.sum(axis=1, keepdims=True)
    mean = np.divide(adjacency, degree, out=np.zeros_like(adjacency), where=degree > 0)
    hidden = signals(graph, 5, 0).numpy()
    for layer in model.layers:
        own, of_neighbors = np.split(layer.weight.detach().numpy(), 2)  # type: ignore[union-attr]
        weight = np.concatenate([own, of_neighbors], axis=1)
        hidden = np.maximum(np.concatenate([hidden, mean @ hidden], axis=1) @ weight.T, 0)
    expected = hidden @ model.output.weight.detach().numpy().T + model.output.bias.detach().numpy()
    found = model(signals(graph, 5, 0), graph).detach().numpy()
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_weights_start_glorot() -> None:
    weight = GraphSAGE(100, 40, 3).layers[0].weight.detach()  # type: ignore[union-attr]
    bound = math.sqrt(6 / (200 + 40))
    assert 0.98 * bound < float(weight.abs().max()) <= bound  # type: ignore[operator]


def test_there_is_at_least_one_layer() -> None:
    with pytest.raises(ValueError, match="num_layers must be a whole number of at least 1, not 0: the paper uses 2"):
        GraphSAGE(5, 4, 3, num_layers=0)
