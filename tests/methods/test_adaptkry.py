from __future__ import annotations

import pytest
import torch
from planted import planted_problem

from unifilter.methods.adaptkry import AdaptKryMethod
from unifilter.training import Patience


def test_the_perceptron_and_the_weights_have_rates_of_their_own() -> None:
    method = AdaptKryMethod(lr=0.1, weight_decay=0.2, filter_lr=0.3, filter_weight_decay=0.4, hops=3)
    mlp, filters = method.build(planted_problem()).parameter_groups
    assert [(group["lr"], group["weight_decay"]) for group in (mlp, filters)] == [(0.1, 0.2), (0.3, 0.4)]
    assert [tuple(one.shape) for one in filters["params"]] == [(4, 1)]
    (alone,) = AdaptKryMethod(lr=0.1, weight_decay=0.2, combine="concatenate").build(planted_problem()).parameter_groups
    assert (alone["lr"], alone["weight_decay"]) == (0.1, 0.2)


def test_presets_are_the_published_settings() -> None:
    cora, penn = AdaptKryMethod.preset("cora"), AdaptKryMethod.preset("penn94")
    expected = {"tau": (0.5, 1.1, 0.8), "lr": 0.1, "filter_lr": 5e-4, "weight_decay": 1e-3, "basis_dropout": 0.2}
    assert cora.settings().items() >= {**expected, "hops": 10, "dropout": 0.3, "num_layers": 3}.items()
    assert (penn.hops, penn.self_loops, penn.optimizer, penn.patience) == (4, "add", "adamw", penn.epochs)
    assert AdaptKryMethod.preset("genius").combine == "concatenate"
    rule = AdaptKryMethod.preset("chameleon").stop_rule()
    assert isinstance(rule, Patience)
    assert (rule.patience, rule.monitor, rule.ties) == (400, "score", False)


@pytest.mark.parametrize("tau", [0.7, (0.5, 1.1)])
def test_settings_come_back_from_a_file(tau: float | tuple[float, ...]) -> None:
    method = AdaptKryMethod(tau=tau)
    assert AdaptKryMethod.from_plain(method.plain_settings()) == method
    assert AdaptKryMethod.with_settings({"tau": [0.5, 1.1]}) == AdaptKryMethod(tau=(0.5, 1.1))


def test_the_powers_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = planted_problem()
    learner = AdaptKryMethod(hops=2).build(problem)
    learner.model.eval()
    expected = learner.model(problem.workspace.inputs("row"), problem.dataset.graph)
    monkeypatch.setattr("unifilter.nn.adaptkry.averaged_powers", None)
    torch.testing.assert_close(learner.forward(torch.arange(48)), expected)
