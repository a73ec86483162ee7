"""UniFilter with one recurrence for all channels: both ways of computing it are the same model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from dense import propagation_matrix
from strategies import connected_graph, signals
from torch import Tensor

from unifilter import Graph, Tridiagonal, factorize
from unifilter._internal.checks import without_torch_notices
from unifilter.bases import Basis, Jacobi, Monomial, Uni, make_basis
from unifilter.nn import LearnedUniBasis, SharedUniFilter, SparseRows, UniFilter
from unifilter.nn.filtered_linear import filtered_linear
from unifilter.nn.shared_uni_filter import sketch_for

GRAPH = connected_graph()
HOPS = 5
BASES: dict[str, dict[str, Any]] = {
    "uni": {"basis": Uni(0.4, 0.3)},
    "learned": {"learned_basis": LearnedUniBasis(0.4, 0.3)},
    "homophily": {"basis": Monomial()},
    "heterophily": {"basis": make_basis("heterophily", homophily=0.2)},
    "jacobi": {"basis": Jacobi(0.5, -0.5)},
}


def features(channels: int, dtype: torch.dtype = torch.float64) -> Tensor:
    x = signals(GRAPH, channels, 1, dtype)
    x[:, 2] = 0
    if channels > 100:
        x[torch.rand(x.shape, generator=torch.Generator().manual_seed(0)) < 0.9] = 0
    return x


def model_for(x: Tensor, basis: str = "uni", **options: Any) -> SharedUniFilter:
    torch.manual_seed(0)
    options = {"hidden_channels": 16, "dropout": 0.0} | BASES[basis] | options
    model = SharedUniFilter(x.shape[1], 3, HOPS, **options).to(x.dtype)
    with torch.no_grad():
        model.filter_weights.normal_()
    model.attach(factorize(GRAPH, x, HOPS, channels="shared").tridiagonal)
    return model


def slopes(model: SharedUniFilter, logits: Tensor) -> list[Tensor]:
    model.zero_grad()
    logits.square().sum().backward()
    return [logits.detach(), *(one.grad.clone() for one in model.parameters() if one.grad is not None)]


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("channels", [7, 40, 300])
def test_rows_and_the_filter_in_the_loop_are_one_model(basis: str, channels: int) -> None:
    """Logits and the gradients of all weights, tau and theta, for features narrower and wider than hidden layers."""
    x = features(channels)
    model = model_for(x, basis, num_layers=3)
    rows = model.rows_of(factorize(GRAPH, x, HOPS, channels="shared"))
    with without_torch_notices():
        sparse = SparseRows(x.to_sparse_csr())
    expected = slopes(model, model(rows))
    assert len(expected) == 1 + len(list(model.parameters()))
    for given in (x, sparse):
        for found, wanted in zip(slopes(model, model.on_graph(GRAPH, given)), expected, strict=True):
            torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9 * float(wanted.abs().max()))


def test_of_one_channel_it_is_unifilter() -> None:
    x = signals(GRAPH, 1, 0)
    shared = model_for(x)
    each = UniFilter(1, 3, HOPS, hidden_channels=16, basis=Uni(0.4, 0.3)).double().eval()
    each.load_state_dict(shared.state_dict())
    torch.testing.assert_close(shared.eval()(x, GRAPH), each(x, GRAPH))


def test_of_the_homophily_basis_it_is_unifilter() -> None:
    """P^k x does not depend on the recurrence."""
    x = features(40)
    shared = model_for(x, "homophily").eval()
    each = UniFilter(40, 3, HOPS, hidden_channels=16, basis=Monomial()).double().eval()
    each.load_state_dict({k: v for k, v in shared.state_dict().items() if k not in UniFilter.lazy_buffers})
    torch.testing.assert_close(shared(x, GRAPH), each(x, GRAPH))


@pytest.mark.parametrize("channels", [7, 40])
def test_the_filter_is_its_response(channels: int) -> None:
    """On another graph, by a dense eigendecomposition of it: one polynomial for all columns of one length."""
    x = features(channels)
    model = model_for(x).eval()
    other = connected_graph(80, seed=5)
    z = signals(other, channels, 9)
    mu, vectors = np.linalg.eigh(propagation_matrix(other))
    response = model.response(torch.from_numpy(1 - mu))
    assert response is not None
    filtered = torch.from_numpy(vectors) @ (response.detach() * (torch.from_numpy(vectors).T @ z))
    torch.testing.assert_close(model(z, other), model.mlp(filtered))
    # Columns differ by their lengths alone.
    a, b, c = (response[:, channel] for channel in (0, 1, 3))
    slope = (1 / model.norm[1] - 1 / model.norm[0]) / (1 / model.norm[3] - 1 / model.norm[0])
    torch.testing.assert_close(b - a, slope * (c - a))
    assert torch.equal(response[:, 2], torch.zeros(80, dtype=torch.float64))  # was zero in training


def test_only_the_recurrence_is_kept() -> None:
    x = features(40, torch.float32)
    model = model_for(x)
    kept = {name: list(value.shape) for name, value in model.state_dict().items() if "mlp" not in name}
    assert kept == {
        "filter_weights": [6, 1], "alpha": [6, 1], "beta": [5, 1], "norm": [40], "dimension": [40],
    }  # fmt: skip
    other = SharedUniFilter(40, 3, HOPS, hidden_channels=16, **BASES["uni"])
    other.load_state_dict(model.state_dict())
    torch.testing.assert_close(other.eval()(x, GRAPH), model.eval()(x, GRAPH))
    # Loaded into once more, it forgets what followed from the first.
    double = model_for(features(40, torch.float32) * 2)
    double.attach(factorize(connected_graph(60, 3), x * 2, HOPS, channels="shared").tridiagonal)
    other.load_state_dict(double.state_dict())
    torch.testing.assert_close(other(x, GRAPH), double.eval()(x, GRAPH))


@pytest.mark.parametrize("channels", [7, 300])
def test_in_training_on_a_graph_it_takes_the_recurrence_itself(channels: int) -> None:
    x = features(channels)
    model = SharedUniFilter(channels, 3, HOPS, hidden_channels=16, **BASES["uni"]).double()
    with pytest.raises(ValueError, match="this model has not seen a factorization yet"):
        model.on_graph(GRAPH, x)
    model(x, GRAPH)
    expected = factorize(GRAPH, x, HOPS, channels="shared", sketch=sketch_for(channels))
    assert model.alpha is not None
    assert torch.equal(model.alpha, expected.alpha[:, :1])
    before = model.alpha
    model(x, GRAPH)
    assert model.alpha is before
    other = x.flip(0).clone()
    model.eval()(other, GRAPH)
    assert model.alpha is before
    model.train()(other, GRAPH)
    assert not torch.equal(model.alpha, before)


def test_dropout_falls_on_features_in_training_alone() -> None:
    x = features(300, torch.float32)
    model = model_for(x, dropout=0.5, basis_dropout=0.2)
    one, other = model.on_graph(GRAPH, x), model.on_graph(GRAPH, x)
    assert not torch.allclose(one, other)
    assert torch.equal(model.eval().on_graph(GRAPH, x), model.on_graph(GRAPH, x))


def test_a_filtered_linear_layer_is_what_it_says() -> None:
    torch.manual_seed(0)
    x, weight = features(50), torch.randn(40, 50, dtype=torch.float64, requires_grad=True)
    scales, filters = torch.rand(2, 50).double(), torch.randn(2, 4, dtype=torch.float64, requires_grad=True)
    matrix = torch.from_numpy(propagation_matrix(GRAPH))
    terms = [torch.eye(60).double(), -matrix]
    for _ in range(2):
        terms.append(-2 * matrix @ terms[-1] - terms[-2])
    direct = sum(
        torch.einsum("k,knm->nm", filters[t], torch.stack(terms)) @ (x * scales[t]) @ weight.T for t in range(2)
    )
    found = filtered_linear(GRAPH, x, weight, scales, filters)
    torch.testing.assert_close(found, direct)
    wanted = torch.autograd.grad(direct.sin().sum(), (weight, filters))
    torch.testing.assert_close(torch.autograd.grad(found.sin().sum(), (weight, filters)), wanted)


class Quadratic(Basis):
    """Not linear in the length of a signal."""

    def coefficients(self, tridiagonal: Tridiagonal) -> Tensor:
        return tridiagonal.norm**2 * torch.eye(tridiagonal.hops + 1, dtype=tridiagonal.alpha.dtype)[:, :, None]


def test_what_is_refused() -> None:
    x = features(40)
    with pytest.raises(ValueError, match='weights="channel" gives every channel a polynomial of its own'):
        SharedUniFilter(40, 3, HOPS, weights="channel")
    with pytest.raises(ValueError, match="the released formulation computes an angle for each channel"):
        SharedUniFilter(40, 3, HOPS, basis=Uni(0.5, 0.5, "released"))
    with pytest.raises(ValueError, match="x has 39 feature columns, but the model was made for 40: pass the same"):
        model_for(x).on_graph(GRAPH, x[:, :39])
    with pytest.raises(ValueError, match="x requires a gradient, and the basis has none for the features: detach it"):
        SharedUniFilter(40, 3, HOPS, **BASES["uni"]).double()(x.clone().requires_grad_(), GRAPH)
    with pytest.raises(ValueError, match="this model has no basis, so it can only read rows of one"):
        SharedUniFilter(40, 3, HOPS).double()(x, GRAPH)
    with pytest.raises(ValueError, match=r"Quadratic\(\) are not linear in the length of a signal.*\"each\""):
        SharedUniFilter(40, 3, HOPS, basis=Quadratic()).double()(x, GRAPH)
    directed = Graph.from_edges(np.array([[0], [1]]), num_nodes=60, direction="out")
    with pytest.raises(ValueError, match="needs an undirected graph"):
        model_for(x)(x, directed)
