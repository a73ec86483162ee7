from __future__ import annotations

import pytest
from planted import planted_problem

from unifilter.methods.appnp import APPNPMethod, GNNHFMethod, GNNLFMethod
from unifilter.methods.method import ModelShape
from unifilter.training import EitherPatience

every_kind = pytest.mark.parametrize("kind", [APPNPMethod, GNNLFMethod, GNNHFMethod])


@every_kind
def test_weight_decay_is_on_the_first_layer_alone(kind: type[APPNPMethod]) -> None:
    learner = kind(lr=0.03, weight_decay=0.2, hidden_channels=7).build(planted_problem())
    first, rest = learner.parameter_groups
    assert (first["lr"], first["weight_decay"], rest["lr"], rest["weight_decay"]) == (0.03, 0.2, 0.03, 0.0)
    assert [tuple(weight.shape) for weight in first["params"]] == [(7, 12)]
    assert [tuple(weight.shape) for weight in rest["params"]] == [(3, 7)]


@every_kind
def test_the_defaults_are_the_published_settings(kind: type[APPNPMethod]) -> None:
    method = kind.preset("cora")
    assert method == kind()
    published = {"features": "row", "epochs": 10_000, "hops": 10, "alpha": 0.1, "hidden_channels": 64, "dropout": 0.5}
    assert method.settings().items() >= {**published, "lr": 0.01, "weight_decay": 5e-3}.items()
    rule = method.stop_rule()
    assert isinstance(rule, EitherPatience)
    assert rule.patience == 100
    assert (GNNLFMethod().mu, GNNHFMethod().beta) == (0.9, 0.9)


def test_settings_reach_the_network() -> None:
    shape = ModelShape(5, 2)
    low, high = GNNLFMethod(mu=0.6).network(shape), GNNHFMethod(beta=2.0, hops=3).network(shape)
    assert len(low.filter_weights) == 12
    assert len(high.filter_weights) == 5
    assert float(low.filter_weights[0]) == pytest.approx(0.1 * 0.6 / (1 - 0.1 * 0.4))
    assert float(high.filter_weights[0]) == pytest.approx(0.1 * (1 + 2) / 1.2)
