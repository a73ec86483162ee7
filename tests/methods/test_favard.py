from __future__ import annotations

from planted import planted_problem

from unifilter.methods.favard import FavardMethod
from unifilter.training import Patience


def test_layers_weights_and_basis_have_rates_of_their_own() -> None:
    method = FavardMethod(
        lr=0.1, weight_decay=0.2, filter_lr=0.3, filter_weight_decay=0.4, basis_lr=0.5, basis_weight_decay=0.6, hops=4
    )
    layers, filters, basis = method.build(planted_problem()).parameter_groups
    rates = [(group["lr"], group["weight_decay"]) for group in (layers, filters, basis)]
    assert rates == [(0.1, 0.2), (0.3, 0.4), (0.5, 0.6)]
    assert [tuple(one.shape) for one in filters["params"]] == [(5, 64)]
    assert [tuple(one.shape) for one in basis["params"]] == [(4, 64), (5, 64)]


def test_presets_are_the_published_settings() -> None:
    squirrel = FavardMethod.preset("squirrel")
    expected = {"features": "row", "hops": 20, "lr": 0.05, "filter_lr": 0.04, "basis_lr": 5e-4, "dropout": 0.5}
    assert squirrel.settings().items() >= {**expected, "weight_decay": 1e-5, "basis_weight_decay": 1e-6}.items()
    assert FavardMethod.preset("pubmed").features == "raw"
    rule = squirrel.stop_rule()
    assert isinstance(rule, Patience)
    assert (rule.patience, rule.monitor, rule.ties, squirrel.epochs) == (300, "score", False, 2000)
