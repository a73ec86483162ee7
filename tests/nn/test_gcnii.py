from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from dense import propagation_matrix
from strategies import connected_graph, signals
from torch import Tensor

from unifilter.nn import GCNII

GRAPH = connected_graph(20).with_self_loops("add")
X = signals(GRAPH, 6, 0)


def small(**options: Any) -> GCNII:
    torch.manual_seed(0)
    return GCNII(6, 16, 3, **{"num_layers": 4, **options}).double()


def in_plain_torch(model: GCNII, alpha: float, theta: float) -> Tensor:
    matrix = torch.from_numpy(propagation_matrix(GRAPH))
    initial = hidden = torch.relu(X @ model.input.weight.T + model.input.bias)
    for layer, weight in enumerate(model.weights, start=1):
        beta = math.log(theta / layer + 1)
        mixed = (1 - alpha) * matrix @ hidden + alpha * initial
        hidden = torch.relu((1 - beta) * mixed + beta * mixed @ weight)
    return hidden @ model.output.weight.T + model.output.bias


@pytest.mark.parametrize(("alpha", "theta"), [(0.1, 0.5), (0.5, 1.5), (0.0, 1.0), (1.0, 1.0)])
def test_logits_and_gradients_are_those_of_the_equation(alpha: float, theta: float) -> None:
    model = small(alpha=alpha, theta=theta, dropout=0.0)
    expected = in_plain_torch(model, alpha, theta)
    found = model(X, GRAPH)
    torch.testing.assert_close(found, expected)
    with torch.no_grad():
        torch.testing.assert_close(model(X, GRAPH), expected)
    directions = torch.randn(expected.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    parameters = list(model.parameters())
    pairs = zip(*(torch.autograd.grad(out, parameters, directions) for out in (found, expected)), strict=True)
    for ours, theirs in pairs:
        torch.testing.assert_close(ours, theirs)


def test_gradients_see_the_masks_of_the_forward_pass() -> None:
    model = small(dropout=0.5)

    def logits(weights: Tensor, bias: Tensor) -> Tensor:
        torch.manual_seed(1)
        found: Tensor = torch.func.functional_call(model, {"weights": weights, "input.bias": bias}, (X, GRAPH))
        return found

    arguments = [model.weights.detach().clone(), model.input.bias.detach().clone()]
    assert torch.autograd.gradcheck(logits, [argument.requires_grad_() for argument in arguments])
    assert not torch.equal(logits(*arguments), model.eval()(X, GRAPH))


def test_a_layer_keeps_one_matrix_and_the_signs_for_its_gradient() -> None:
    nodes = [small(num_layers=30)(X, GRAPH).grad_fn]
    for node in nodes:  # it grows while it is read: all that went into the logits
        nodes += [one for one, _ in node.next_functions if one is not None]
    (layers,) = {node for node in nodes if type(node).__name__ == "_LayersBackward"}
    kept = [tensor for part in layers.rest if isinstance(part, list) for tensor in part if isinstance(tensor, Tensor)]
    assert sum(tensor.nbytes for tensor in kept) == 30 * 20 * 16 * (8 + 1)


def test_weights_start_uniform() -> None:
    weights = GCNII(6, 64, 3, num_layers=3).weights.detach()
    assert 0.99 / 8 < float(weights.abs().max()) <= 1 / 8
    assert float(weights.std()) == pytest.approx(1 / 8 / math.sqrt(3), rel=0.05)


def test_no_layer_subtracts_the_identity() -> None:
    model = GCNII(6, 4, 3, num_layers=3, theta=4.0)
    assert model.betas.flatten().tolist() == pytest.approx([1.0, 1.0, math.log(4 / 3 + 1)])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_layers": 0}, "num_layers must be a whole number of at least 1, not 0: the paper uses 2 to 64"),
        ({"alpha": 1.5}, r"alpha must lie in \[0, 1\], not 1.5"),
        ({"theta": 0.0}, "theta must be a finite number above 0, not 0.0: the paper uses 0.5 to 1.5"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**settings)
