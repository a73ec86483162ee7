from __future__ import annotations

from dataclasses import replace

import pytest
from planted import planted_problem

from unifilter.estimators import fit
from unifilter.methods.mixhop import MixHopMethod
from unifilter.training import Patience


@pytest.mark.parametrize("dataset", ["cora", "citeseer", "pubmed", "chameleon", "squirrel", "actor"])
def test_on_the_masks_both_published_widths_are_tried(dataset: str) -> None:
    method = MixHopMethod.preset(dataset, split="48")
    assert [one.hidden_channels for one in method.candidates()] == [64, 192]
    assert {replace(one, hidden_channels=None) for one in method.candidates()} == {method}
    assert (method.input_dropout, method.dropout, method.lr, method.epochs) == (0.7, 0.9, 0.5, 400)


def test_a_given_width_is_the_only_one() -> None:
    method = MixHopMethod(hidden_channels=8)
    assert method.candidates() == (method,)
    fitted = fit(replace(method, hidden_channels=None, epochs=2), planted_problem())
    assert isinstance(fitted.method, MixHopMethod)
    assert fitted.method.hidden_channels in (64, 192)


def test_weights_are_found_by_gradient_descent_with_a_falling_rate() -> None:
    how = MixHopMethod().optimization()
    assert (how.optimizer, how.epochs) == ("sgd", 400)
    assert how.lr_decay * 40 == pytest.approx(0.01)
    learner = MixHopMethod(hidden_channels=8, weight_decay=0.1, score_decay=0.2).build(planted_problem())
    decays = {id(one): group["weight_decay"] for group in learner.parameter_groups for one in group["params"]}
    named = {name: decays[id(parameter)] for name, parameter in learner.model.named_parameters()}
    assert named == {"input.weight": 0.1, "output.weight": 0.1, "power_scores": 0.2, "bias": 0.0}
    assert isinstance(learner.stop, Patience)
    assert (learner.stop.patience, learner.stop.monitor, learner.stop.ties) == (50, "score", False)
