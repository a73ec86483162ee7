from __future__ import annotations

import numpy as np
import pytest
import torch
from strategies import connected_graph

from unifilter.nn import GloGNN

NODES, CHANNELS, HIDDEN, CLASSES = 30, 7, 8, 4
ALL = (0.3, 2.0, 0.4, 0.6)


def as_published(model: GloGNN, x: np.ndarray, adjacency: np.ndarray) -> np.ndarray:
    """With the matrix Z of every pair of nodes, or for GloGNN++ its factors, as the paper writes them."""
    state = {name: value.numpy() for name, value in model.state_dict().items()}
    loops = adjacency + np.eye(len(x))
    mean = loops / loops.sum(axis=1, keepdims=True)
    alpha, beta, gamma, delta = model.alpha, model.beta, model.gamma, model.delta
    hidden = np.zeros((len(x), HIDDEN))
    if delta > 0:
        hidden += delta * (x @ state["of_features.weight"].T + state["of_features.bias"])
    if delta < 1:
        hidden += (1 - delta) * (mean @ state["of_nodes.weight"] + state["of_nodes.bias"])
    first = h = np.maximum(hidden, 0) @ state["output.weight"].T + state["output.bias"]
    powers = sum(w * np.linalg.matrix_power(mean, k + 1) for k, w in enumerate(state["order_weights"]))
    # The weights of GloGNN++ as a diagonal matrix between the two factors of each product with h.
    diagonal = np.diag(state["scale"]) if model.scale is not None else np.eye(CLASSES)
    for _ in range(model.num_layers):
        inverse = np.linalg.inv((1 - gamma) ** 2 * h @ h.T + (alpha + beta) * np.eye(len(x)))
        q = (1 - gamma) * inverse @ h @ diagonal
        inner = diagonal @ h.T @ q
        h = (1 - gamma) * h @ inner + beta * powers @ q - gamma * (1 - gamma) * first @ inner + gamma * first
    return h


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize(
    ("alpha", "beta", "gamma", "delta"), [ALL, (0.0, 1.0, 0.0, 0.0), (1.0, 1000.0, 0.8, 1.0), (0.0, 2e4, 0.5, 0.9)]
)
def test_the_closed_form_is_that_of_the_paper(
    alpha: float, beta: float, gamma: float, delta: float, scaled: bool
) -> None:
    graph = connected_graph(NODES)
    torch.manual_seed(0)
    model = GloGNN(CHANNELS, HIDDEN, CLASSES, NODES, 3, 3, alpha, beta, gamma, delta, scaled).double().eval()
    with torch.no_grad():
        model.order_weights.copy_(torch.tensor([0.5, -0.3, 0.8]))
        if model.scale is not None:
            model.scale.copy_(torch.tensor([0.7, -0.2, 1.5, 0.4]))
    x = torch.randn(NODES, CHANNELS, dtype=torch.float64)
    adjacency = graph.adjacency(torch.float64).to_dense().numpy()
    expected = as_published(model, x.numpy(), adjacency)
    np.testing.assert_allclose(model(x, graph).detach().numpy(), expected, rtol=1e-7, atol=1e-9)


def test_without_the_weights_it_is_z_times_h() -> None:
    """One layer, with the matrix of every pair of nodes."""
    graph = connected_graph(NODES)
    model = GloGNN(CHANNELS, HIDDEN, CLASSES, NODES, 1, 2, *ALL, scaled=False).double().eval()
    alpha, beta, gamma, _ = ALL
    x = torch.randn(NODES, CHANNELS, dtype=torch.float64)
    loops = graph.adjacency(torch.float64).to_dense() + torch.eye(NODES)
    mean = loops / loops.sum(dim=1, keepdim=True)
    seen: list[torch.Tensor] = []
    model.output.register_forward_hook(lambda _, inputs, output: seen.append(output.detach()))
    found = model(x, graph)
    h = seen[0]
    powers = (mean + mean @ mean) / 2
    left = (1 - gamma) * h @ h.T + beta * powers - gamma * (1 - gamma) * h @ h.T
    z = left @ torch.linalg.inv((1 - gamma) ** 2 * h @ h.T + (alpha + beta) * torch.eye(NODES))
    torch.testing.assert_close(found, (1 - gamma) * z @ h + gamma * h)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_single_precision_will_do(size: float) -> None:
    """However large the outputs of the MLP are beside alpha + beta."""
    graph, x = connected_graph(NODES), torch.randn(NODES, CHANNELS) * size
    torch.manual_seed(0)
    model = GloGNN(CHANNELS, HIDDEN, CLASSES, NODES, 3, 4, 0.0, 1.0, 0.2, 0.5).eval()
    single = model(x, graph)
    double = model.double()(x.double(), graph)
    torch.testing.assert_close(single.double(), double, rtol=1e-3, atol=1e-4 * float(double.detach().abs().max()))


def test_what_is_not_read_has_no_weights() -> None:
    names = {
        delta: {name.split(".")[0] for name, _ in GloGNN(3, 4, 2, 9, delta=delta).named_parameters()}
        for delta in (0.0, 0.5, 1.0)
    }
    rest = {"output", "order_weights", "scale"}
    assert names == {0.0: rest | {"of_nodes"}, 0.5: rest | {"of_nodes", "of_features"}, 1.0: rest | {"of_features"}}
    assert GloGNN(3, 4, 2, delta=1.0).num_nodes is None
    assert GloGNN(3, 4, 2, 9, delta=0.9).num_nodes == 9


def test_orders_and_channels_start_alike() -> None:
    model = GloGNN(3, 4, 5, 9, orders=4)
    assert model.scale is not None
    assert model.order_weights.tolist() == [0.25] * 4
    assert model.scale.tolist() == pytest.approx([0.2] * 5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_layers": 0}, "num_layers must be a whole number of at least 1, not 0: the paper uses 1 to 3"),
        ({"orders": 0}, "orders must be a whole number of at least 1, not 0: the paper uses 2 to 4"),
        ({"gamma": 1.0}, "gamma must be below 1, not 1.0"),
        ({"delta": 1.5}, r"delta must lie in \[0, 1\], not 1.5"),
        ({"alpha": 0.0, "beta": 0.0}, "alpha and beta must not be negative, nor both be 0, not 0.0 and 0.0: the paper"),
        ({"beta": float("nan")}, "alpha and beta must not be negative, nor both be 0, not 0.0 and nan"),
        ({"num_nodes": None}, "delta below 1 needs a weight for every node: pass num_nodes, or delta=1"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, float | None], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GloGNN(3, 4, 2, **{"num_nodes": 9, **settings})  # type: ignore[arg-type]
