from __future__ import annotations

import pytest

from unifilter.methods.gcnii import GCNIIMethod
from unifilter.training import LossWindow, Patience


@pytest.mark.parametrize(
    ("dataset", "layers", "alpha", "theta", "width", "dropout"),
    [
        ("cora", 64, 0.2, 0.5, 64, 0.5),
        ("chameleon", 4, 0.2, 1.5, 64, 0.5),
        ("chameleon-directed", 4, 0.2, 1.5, 64, 0.5),
        ("squirrel-directed", 2, 0.5, 0.5, 16, 0.6),
        ("actor", 2, 0.5, 0.5, 16, 0.0),
    ],
)
def test_settings_for_the_masks(
    dataset: str, layers: int, alpha: float, theta: float, width: int, dropout: float
) -> None:
    method = GCNIIMethod.preset(dataset, split="48")
    assert (method.num_layers, method.alpha, method.theta) == (layers, alpha, theta)
    assert (method.hidden_channels, method.dropout, method.epochs) == (width, dropout, 1500)
    rule = method.stop_rule()
    assert isinstance(rule, Patience)
    assert (rule.patience, rule.monitor) == (100, "loss")


def test_settings_for_other_splits_have_a_window() -> None:
    method = GCNIIMethod.preset("pubmed", split="60")
    assert (method.num_layers, method.epochs) == (4, 5000)
    rule = method.stop_rule()
    assert isinstance(rule, LossWindow)
    assert rule.window == 200
