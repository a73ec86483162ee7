from __future__ import annotations

from unifilter.methods.graphsage import GraphSAGEMethod


def test_the_search_is_over_what_was_searched_before() -> None:
    space = GraphSAGEMethod.search_space
    assert space.keys() == {"lr", "weight_decay", "dropout"}
    assert (min(space["weight_decay"]), max(space["weight_decay"])) == (0.0, 1e-2)
    assert GraphSAGEMethod().hidden_channels == 64
    assert GraphSAGEMethod(window=30).stop_rule().window == 30
