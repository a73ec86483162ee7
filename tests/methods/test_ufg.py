from __future__ import annotations

import torch
from planted import planted_problem

from unifilter.estimators import fit
from unifilter.methods.method import ModelShape
from unifilter.methods.ufg import UFGMethod
from unifilter.methods.uni_filter import UniFilterMethod
from unifilter.training import LossWindow


def test_settings_reach_the_network_and_the_optimizer() -> None:
    method = UFGMethod(filters="linear", levels=3, lr=0.1, weight_decay=0.2, filter_lr=0.3, filter_weight_decay=0.4)
    model = method.network(ModelShape(5, 2))
    assert len(model.filter_weights) == 7
    rates = [(group["lr"], group["weight_decay"]) for group in method.parameter_groups(model)]
    assert rates == [(0.1, 0.2), (0.3, 0.4)]
    assert isinstance(method.stop_rule(), LossWindow)


def test_unifilter_learns_on_framelets_too() -> None:
    fitted = fit(UniFilterMethod(basis="framelet", hops=4, epochs=3, lr=0.01, dropout=0.5), planted_problem())
    assert fitted.model.weights is not None
    assert fitted.model.weights.shape == (3,)
    assert torch.isfinite(fitted.logits).all()
