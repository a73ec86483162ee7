"""FavardGNN: its recurrence, where it starts, its filter, and the theorem that it is named after."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from dense import propagation_matrix
from strategies import connected_graph, signals
from torch import Tensor

from unifilter import factorize
from unifilter.nn import FavardGNN
from unifilter.nn.optbasis import lanczos_vectors

NODES, HOPS = 30, 4
GRAPH = connected_graph(NODES)


def example() -> tuple[FavardGNN, Tensor]:
    torch.manual_seed(0)
    model = FavardGNN(6, 5, 3, HOPS).double().eval()
    with torch.no_grad():
        model.filter_weights.normal_()
        model.shifts.normal_()
        model.scales.uniform_(0.5, 2)
        model.scales[2, 1] = -3.0  # counts as 0.01
    return model, signals(GRAPH, 6, 0)


def test_it_is_the_recurrence_of_the_paper() -> None:
    model, x = example()
    P = torch.from_numpy(propagation_matrix(GRAPH))
    with torch.no_grad():
        hidden = torch.relu(model.input(x))
        filtered = torch.zeros_like(hidden)
        for channel in range(5):
            shift, scale = model.shifts[:, channel], model.scales[:, channel].clamp(min=0.01)
            vectors = [hidden[:, channel] / scale[0]]
            for k in range(1, HOPS + 1):
                back = vectors[-2] if k > 1 else torch.zeros(NODES, dtype=torch.float64)
                vectors.append((P @ vectors[-1] - shift[k - 1] * vectors[-1] - scale[k - 1] * back) / scale[k])
            filtered[:, channel] = torch.stack(vectors, dim=1) @ model.filter_weights[:, channel]
        torch.testing.assert_close(model(x, GRAPH), model.output(filtered))


def test_the_response_is_the_filter_of_each_hidden_channel() -> None:
    model, x = example()
    values, vectors = np.linalg.eigh(np.eye(NODES) - propagation_matrix(GRAPH))
    response = model.response(torch.from_numpy(values)).numpy()
    assert response.shape == (NODES, 5)
    with torch.no_grad():
        filtered = vectors @ (response * (vectors.T @ model.hidden(x).numpy()))
        torch.testing.assert_close(model(x, GRAPH), model.output(torch.from_numpy(filtered)))


def test_it_starts_as_the_hidden_channels() -> None:
    model = FavardGNN(6, 5, 3, HOPS).double().eval()
    x = signals(GRAPH, 6, 0)
    torch.testing.assert_close(model(x, GRAPH), model.output(model.hidden(x)))
    assert torch.equal(model.response(torch.linspace(0, 2, 5)), torch.ones(5, 5))


def test_it_can_learn_every_orthonormal_basis() -> None:
    """With the recurrence of the Lanczos vectors, the basis is the one that OptBasisGNN computes."""
    hidden = signals(GRAPH, 5, 1)
    found = factorize(GRAPH, hidden, HOPS).tridiagonal
    model = FavardGNN(6, 5, 3, HOPS).double()
    with torch.no_grad():
        model.shifts.copy_(found.alpha[:HOPS])
        model.scales.copy_(torch.cat([found.norm[None], found.beta[:HOPS]]))
        vectors = torch.stack(list(model.vectors(GRAPH.propagate, hidden)))
    torch.testing.assert_close(vectors, torch.stack(list(lanczos_vectors(GRAPH.propagate, hidden, HOPS))))


def test_dropout_falls_on_the_input_the_hidden_channels_and_the_last_layer() -> None:
    model, x = example()
    model.train()
    assert not torch.equal(model(x, GRAPH), model(x, GRAPH))
    model.dropout = model.hidden_dropout = 0.0
    assert torch.equal(model(x, GRAPH), model(x, GRAPH))
    with pytest.raises(ValueError, match="hidden_dropout must be below 1"):
        FavardGNN(6, 5, 3, hidden_dropout=1.0)
