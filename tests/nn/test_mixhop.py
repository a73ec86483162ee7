from __future__ import annotations

import numpy as np
import pytest
import torch
from dense import propagation_matrix
from hypothesis import given
from hypothesis import strategies as st
from strategies import connected_graph, graphs, signals

from unifilter import Graph
from unifilter._internal.checks import without_torch_notices
from unifilter.nn import MixHop


@given(graph=graphs(), hops=st.integers(1, 3))
def test_logits_are_those_of_the_equation(graph: Graph, hops: int) -> None:
    torch.manual_seed(0)
    model = MixHop(5, 7, 3, hops).double().eval()
    for parameter in model.parameters():
        parameter.data.normal_()
    weights = {name: value.detach().numpy() for name, value in model.named_parameters()}
    matrix = propagation_matrix(graph.with_self_loops("add"))
    powers = [np.linalg.matrix_power(matrix, k) for k in range(hops + 1)]
    x = signals(graph, 5, 0).numpy()
    length = np.linalg.norm(x, axis=1, keepdims=True)
    unit = np.divide(x, length, out=np.zeros_like(x), where=length > 0)
    columns = np.split(weights["input.weight"], np.cumsum(model.widths)[:-1])
    mixed = np.concatenate([power @ unit @ weight.T for power, weight in zip(powers, columns, strict=True)], axis=1)
    hidden = (mixed - mixed.mean(axis=0)) / np.sqrt(mixed.var(axis=0) + 1e-3) + weights["bias"]
    shares = np.exp(weights["power_scores"]) / np.exp(weights["power_scores"]).sum()
    outputs = np.split(weights["output.weight"], hops + 1)
    expected = sum(
        share * power @ np.maximum(hidden, 0) @ weight.T
        for share, power, weight in zip(shares, powers, outputs, strict=True)
    )
    np.testing.assert_allclose(model(signals(graph, 5, 0), graph).detach().numpy(), expected, atol=1e-8)


def test_the_scale_of_a_row_does_not_matter_even_if_it_is_dropped_from() -> None:
    graph = connected_graph(20)
    x = signals(graph, 48, 0, torch.float32)
    scale = torch.linspace(0.1, 10, 20)[:, None]
    model = MixHop(48, 6, 3)
    for mode in (model.eval(), model.train()):
        with without_torch_notices():
            inputs = x, x * scale, (x * scale).to_sparse_csr()
        logits = []
        for features in inputs:
            torch.manual_seed(1)
            logits.append(mode(features, graph))
        torch.testing.assert_close(logits[1], logits[0])
        torch.testing.assert_close(logits[2], logits[0])


@pytest.mark.parametrize(
    ("width", "hops", "widths"), [(64, 2, [21, 21, 22]), (192, 2, [64, 64, 64]), (6, 3, [1, 1, 1, 3])]
)
def test_the_width_is_shared_by_the_powers(width: int, hops: int, widths: list[int]) -> None:
    assert MixHop(5, width, 3, hops).widths == widths


def test_every_power_starts_as_a_layer_of_its_own() -> None:
    model = MixHop(100, 60, 30)
    for weight, ends in [(model.input.weight, 100 + 20), (model.output.weight, 60 + 30)]:
        bound = (6 / ends) ** 0.5
        assert 0.98 * bound < float(weight.detach().abs().max()) <= bound
    assert not model.bias.any()
    assert not model.power_scores.any()


def test_a_width_that_leaves_a_power_without_a_channel_is_refused() -> None:
    with pytest.raises(ValueError, match="hidden_channels is 2, and there are 3 powers to share it: pass 3 or more"):
        MixHop(5, 2, 3)
