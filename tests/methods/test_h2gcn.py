from __future__ import annotations

import math

import pytest

from unifilter.methods.h2gcn import H2GCNMethod
from unifilter.training import Patience


def test_it_is_trained_as_the_authors_do() -> None:
    method = H2GCNMethod()
    assert (method.optimizer, method.epochs, method.lr, method.features) == ("adam", 2000, 0.01, "row")
    stop = method.stop_rule()
    assert isinstance(stop, Patience)
    # Never before the last epoch, and of equally good epochs the last one.
    assert (stop.patience, stop.monitor, stop.ties) == (2000, "score", True)


def test_the_search_space_is_the_published_grid() -> None:
    assert math.prod(len(values) for values in H2GCNMethod.search_space.values()) == 16
    # Twice what Keras calls l2.
    assert H2GCNMethod.search_space["weight_decay"] == (2 * 1e-5, 2 * 5e-4)


@pytest.mark.parametrize(("dataset", "width"), [("cora", 32), ("squirrel", 16), ("actor", 64)])
def test_settings_are_published_for_some_splits_alone(dataset: str, width: int) -> None:
    method = H2GCNMethod.preset(dataset, split="60")
    assert (method.hidden_channels, method.rounds, method.dropout, method.weight_decay) == (width, 1, 0.0, 1e-3)
    assert H2GCNMethod.preset(dataset, split="48") == H2GCNMethod()
