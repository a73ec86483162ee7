from __future__ import annotations

from typing import Any

import pytest
import torch
from masks import check_share
from strategies import connected_graph, signals

from unifilter import BasisRows, Factorization, factorize
from unifilter.nn import HetFilter, HomFilter, LearnedUniBasis, OrtFilter, UniFilter


def factorization(channels: int = 40, dtype: torch.dtype = torch.float32) -> Factorization:
    graph = connected_graph()
    return factorize(graph, signals(graph, channels, 0, dtype), hops=5)


@pytest.mark.parametrize(
    ("model_class", "of_its_basis"),
    [(UniFilter, {}), (HomFilter, {}), (HetFilter, {"homophily": 0.3}), (OrtFilter, {})],
)
def test_logits_and_initial_weights(model_class: type[UniFilter], of_its_basis: dict[str, Any]) -> None:
    model = model_class(in_channels=6, out_channels=3, hops=4, **of_its_basis)
    assert model(torch.randn(20, 5, 6)).shape == (20, 3)
    assert torch.equal(model.weights, torch.full((5,), 1 / 5))


def test_each_channel_can_have_its_own_weights() -> None:
    model = UniFilter(6, 3, hops=4, weights="channel")
    assert torch.equal(model.weights, torch.full((5, 6), 1 / 5))
    rows = torch.randn(20, 5, 6)
    torch.nn.init.normal_(model.filter_weights)
    filtered = (rows * model.weights).sum(dim=1)
    model.eval()
    torch.testing.assert_close(model(rows), model.mlp(filtered))
    shared = UniFilter(6, 3, hops=4)
    assert shared.filter_weights.numel() == 5


@pytest.mark.parametrize("channels", [6, 40])
@pytest.mark.parametrize("batch_norm", [False, True])
def test_a_tensor_and_basis_rows_are_the_same_input(channels: int, batch_norm: bool) -> None:
    fact = factorization(channels)
    rows = BasisRows.from_factorization(fact, "uni", tau=0.6, homophily=0.3)
    tensor = fact.basis("uni", tau=0.6, homophily=0.3).transpose(0, 1)
    nodes = torch.arange(0, 60, 3)
    model = UniFilter(channels, 3, hops=5, batch_norm=batch_norm)
    slopes = []
    for given in (tensor[nodes], rows[nodes]):
        # Masks in the perceptron come from torch's generator; the running means of the norms go back with it.
        torch.manual_seed(0)
        model.zero_grad()
        logits = model(given)
        logits.square().sum().backward()
        slopes.append([logits.detach(), *(parameter.grad for parameter in model.parameters())])
    for left, right in zip(*slopes, strict=True):
        torch.testing.assert_close(left, right, atol=1e-4, rtol=1e-4)
    model.eval()
    torch.testing.assert_close(model(tensor[nodes]), model(rows[nodes]))


@pytest.mark.parametrize("channels", [6, 40])
def test_basis_elements_are_dropped_in_training_only(channels: int) -> None:
    rows = BasisRows.from_factorization(factorization(channels), "uni", tau=0.6, homophily=0.3)
    model = UniFilter(channels, 3, hops=5, dropout=0.0, basis_dropout=0.5)
    torch.manual_seed(1)
    first, second = model(rows), model(rows)
    assert not torch.equal(first, second)
    torch.manual_seed(1)
    assert torch.equal(model(rows), first)
    model.eval()
    torch.testing.assert_close(model(rows), model.mlp(torch.einsum("nkd,k->nd", rows.dense(), model.weights)))


@pytest.mark.parametrize("channels", [20, 64])
def test_the_perceptron_s_input_is_dropped_once(channels: int) -> None:
    model = UniFilter(channels, channels, hops=1, num_layers=1, dropout=0.8)
    torch.nn.init.eye_(model.mlp.get_parameter("layers.0.weight"))
    rows = torch.ones(500, 2, channels)
    check_share(model(rows) > 0, 0.8)
    model.eval()
    assert (model(rows) > 0).all()


def test_the_filter_has_an_optimiser_group_of_its_own() -> None:
    model = UniFilter(4, 3, hops=5, batch_norm=True, learned_basis=LearnedUniBasis())
    perceptron, of_filter = model.parameter_groups(0.1, 0.2, 0.3, 0.4)
    assert (perceptron["lr"], perceptron["weight_decay"]) == (0.1, 0.2)
    assert (of_filter["lr"], of_filter["weight_decay"]) == (0.3, 0.4)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    assert all(names[id(parameter)].startswith("mlp.") for parameter in perceptron["params"])
    assert [names[id(parameter)] for parameter in of_filter["params"]] == [
        "filter_weights",
        "learned_basis.raw.tau",
        "learned_basis.raw.homophily",
    ]
    assert len(perceptron["params"]) + len(of_filter["params"]) == len(names)


@pytest.mark.parametrize("channels", [6, 40])
@pytest.mark.parametrize("weights", ["hop", "channel"])
def test_a_learned_basis_on_orthonormal_rows_is_the_fixed_one(channels: int, weights: Any) -> None:
    fact = factorization(channels, torch.float64)
    learned = LearnedUniBasis(0.6, 0.3)
    model = UniFilter(channels, 3, hops=5, weights=weights, learned_basis=learned).double().eval()
    model.attach(fact.tridiagonal)
    torch.nn.init.normal_(model.filter_weights)
    fixed = UniFilter(channels, 3, hops=5, weights=weights).double().eval()
    fixed.load_state_dict({k: v for k, v in model.state_dict().items() if "learned" not in k})
    orthonormal = BasisRows.from_factorization(fact, "orthonormal")
    uni = BasisRows.from_factorization(fact, "uni", tau=0.6, homophily=0.3)
    torch.testing.assert_close(model(orthonormal), fixed(uni))

    model(orthonormal).square().sum().backward()
    for name, parameter in learned.named_parameters():
        assert parameter.grad is not None
        with torch.no_grad():
            losses = []
            for step in (1e-5, -2e-5):
                parameter += step
                losses.append(float(model(orthonormal).square().sum()))
            parameter += 1e-5
        assert float(parameter.grad) == pytest.approx((losses[0] - losses[1]) / 2e-5, rel=1e-5), name


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"weights": "node"}, "weights must be one of 'hop', 'channel', not 'node'"),
        ({"hops": 0}, "hops must be a whole number of at least 1, not 0: pass hops=10"),
        ({"basis_dropout": 1}, "basis_dropout must be below 1, not 1: nothing would be left"),
        ({"num_layers": 1.5}, "num_layers must be a whole number of at least 1, not 1.5"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        UniFilter(4, 3, **setting)


@pytest.mark.parametrize("shape", [(9, 5, 6), (9, 6, 7)])
def test_rows_of_other_hops_or_features_are_refused(shape: tuple[int, ...]) -> None:
    model = UniFilter(6, 3, hops=5)
    with pytest.raises(ValueError, match=f"reads 6 vectors of 6 channels, and the rows have {shape[1]} of {shape[2]}"):
        model(torch.ones(shape))


def test_a_learned_basis_of_another_factorization_is_refused() -> None:
    tridiagonal = factorization(4).tridiagonal
    with pytest.raises(ValueError, match="the factorization has 5 hops and 4 channels, the model 10 and 4: build both"):
        UniFilter(4, 3, learned_basis=LearnedUniBasis()).attach(tridiagonal)
    with pytest.raises(ValueError, match="the factorization has 5 hops and 4 channels, the model 5 and 7: build both"):
        UniFilter(7, 3, hops=5, learned_basis=LearnedUniBasis()).attach(tridiagonal)


def test_a_learned_basis_refuses_rows_of_a_basis_that_is_already_mixed() -> None:
    fact = factorization(4)
    model = UniFilter(4, 3, hops=5, learned_basis=LearnedUniBasis())
    model.attach(fact.tridiagonal)
    with pytest.raises(ValueError, match='reads rows of the orthonormal basis.*from_factorization.fact, "orthonormal"'):
        model(BasisRows.from_factorization(fact, "homophily"))
