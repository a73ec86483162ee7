from __future__ import annotations

import pytest
from planted import planted_problem

from unifilter.methods.glognn import GloGNNMethod, GloGNNPlusPlusMethod
from unifilter.training import LossWindow


def test_published_settings_are_for_the_masks_alone() -> None:
    method = GloGNNPlusPlusMethod.preset("chameleon", split="48")
    assert (method.alpha, method.beta, method.gamma, method.delta) == (1, 1, 0.4, 0)
    assert (method.num_layers, method.orders, method.dropout, method.weight_decay) == (3, 2, 0.4, 1e-4)
    assert (method.hidden_channels, method.lr, method.epochs, method.features) == (64, 0.01, 2000, "row")
    stop = method.stop_rule()
    assert isinstance(stop, LossWindow)
    assert (stop.window, stop.keep) == (300, "score")
    assert GloGNNPlusPlusMethod.preset("chameleon", split="60") == GloGNNPlusPlusMethod()
    assert GloGNNMethod.preset("chameleon", split="48") == GloGNNMethod()


@pytest.mark.parametrize(("delta", "transductive"), [(0.0, True), (0.9, True), (1.0, False)])
def test_a_weight_for_every_node_unless_features_are_all(delta: float, transductive: bool) -> None:
    method = GloGNNPlusPlusMethod(delta=delta)
    learner = method.build(planted_problem())
    assert method.transductive == transductive
    assert learner.shape.facts == ({"num_nodes": 48} if transductive else {})


def test_the_two_differ_by_the_weights_of_channels() -> None:
    names = [
        {name for name, _ in method().build(planted_problem()).model.named_parameters()}
        for method in (GloGNNPlusPlusMethod, GloGNNMethod)
    ]
    assert names[0] - names[1] == {"scale"}
    assert names[1] < names[0]
