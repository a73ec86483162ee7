from __future__ import annotations

import math

from planted import planted_problem

from unifilter.methods.linkx import LINKXMethod
from unifilter.training import Patience


def test_it_is_trained_as_the_authors_do() -> None:
    method = LINKXMethod()
    assert (method.optimizer, method.epochs, method.lr, method.weight_decay) == ("adamw", 500, 0.01, 1e-3)
    assert method.features == "raw"
    stop = method.stop_rule()
    assert isinstance(stop, Patience)
    # Never before the last epoch, and of equally good epochs the first one.
    assert (stop.patience, stop.monitor, stop.ties) == (500, "score", False)


def test_the_search_space_is_the_published_grid() -> None:
    assert math.prod(len(values) for values in LINKXMethod.search_space.values()) == 384
    assert not LINKXMethod.presets


def test_the_number_of_nodes_is_stored_with_the_model() -> None:
    learner = LINKXMethod(hidden_channels=8).build(planted_problem())
    assert learner.shape.facts == {"num_nodes": 48}
    assert learner.model.num_nodes == 48
