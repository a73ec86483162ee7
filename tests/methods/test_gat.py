from __future__ import annotations

import pytest

from unifilter.methods.gat import GATMethod


@pytest.mark.parametrize("dataset", ["cora", "pubmed", "chameleon-directed", "squirrel-directed", "actor"])
def test_settings_for_the_masks(dataset: str) -> None:
    method = GATMethod.preset(dataset, split="48")
    assert (method.hidden_channels, method.heads, method.output_heads) == (8, 8, 1)
    assert (method.dropout, method.attention_dropout, method.lr) == (0.6, 0.6, 0.005)
    assert (method.epochs, method.output_elu) == (1500, True)
    assert method.weight_decay == (5e-4 if dataset == "cora" else 5e-5)
    assert (method.stop_rule().patience, method.stop_rule().monitor) == (100, "loss")
    assert not GATMethod.preset(dataset, split="60").output_elu
