from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from unifilter.nn import MLP


def weights_of(model: MLP) -> list[Tensor]:
    return [next(layer.parameters()) for layer in model.layers]


@pytest.mark.parametrize(("num_layers", "widths"), [(1, [7, 3]), (2, [7, 5, 3]), (4, [7, 5, 5, 5, 3])])
def test_widths_of_the_layers(num_layers: int, widths: list[int]) -> None:
    model = MLP(7, 5, 3, num_layers)
    assert [list(weight.shape) for weight in weights_of(model)] == [[out, into] for into, out in pairwise(widths)]
    assert model(torch.randn(11, 7)).shape == (11, 3)
    assert all("bias" not in name for name, _ in model.named_parameters())


def test_weights_start_uniform_within_the_root_of_the_output_width() -> None:
    torch.manual_seed(0)
    for weight in weights_of(MLP(400, 100, 25, num_layers=3)):
        bound = 1 / math.sqrt(weight.shape[0])
        assert weight.abs().max() <= bound
        assert weight.abs().max() > 0.99 * bound
        # The variance of a uniform draw; 2500 draws or more.
        assert float(weight.detach().var()) == pytest.approx(bound**2 / 3, rel=0.1)


def test_layers_of_equal_width_add_their_input() -> None:
    model = MLP(4, 4, 4, num_layers=3, dropout=0.5).eval()
    first, second, last = weights_of(model)
    x = torch.randn(9, 4)
    hidden = torch.relu(x @ first.T + x)
    hidden = torch.relu(hidden @ second.T + hidden)
    torch.testing.assert_close(model(x), hidden @ last.T + hidden)


def test_layers_of_other_width_do_not() -> None:
    model = MLP(6, 5, 3).eval()
    first, last = weights_of(model)
    x = torch.randn(9, 6)
    torch.testing.assert_close(model(x), torch.relu(x @ first.T) @ last.T)


def test_hidden_layers_are_normalised_over_the_batch_and_the_last_is_not() -> None:
    model = MLP(6, 5, 3, num_layers=3, dropout=0.0, batch_norm=True)
    x = torch.randn(50, 6)
    first, second, last = weights_of(model)

    def normalized(h: Tensor) -> Tensor:
        return (h - h.mean(dim=0)) / (h.var(dim=0, correction=0) + 1e-5).sqrt()

    hidden = torch.relu(normalized(x @ first.T))
    hidden = torch.relu(normalized(hidden @ second.T) + hidden)
    torch.testing.assert_close(model(x), hidden @ last.T)
    assert [name for name, _ in model.named_parameters() if "norms" in name] == [
        f"norms.{layer}.{part}" for layer in (0, 1) for part in ("weight", "bias")
    ]


@pytest.mark.parametrize("batch_norm", [False, True])
def test_a_plain_one_is_two_layers_of_torch(batch_norm: bool) -> None:
    torch.manual_seed(0)
    model = MLP(6, 6, 6, dropout=0.5, batch_norm=batch_norm, plain=True).eval()
    first, last = model.layers
    x = torch.randn(9, 6)
    expected = last(torch.relu(model.norms[0](first(x))))
    torch.testing.assert_close(model(x), expected)
    torch.testing.assert_close(model.forward_on(lambda: x), expected)
    model.dropout = 0.0
    torch.testing.assert_close(model.train().forward_on(lambda: x), model(x))


def test_a_plain_one_starts_as_torch_does() -> None:
    torch.manual_seed(0)
    model = MLP(400, 100, 25, plain=True)
    for layer, inputs in zip(model.layers, (400, 100), strict=True):
        for parameter in layer.parameters():
            assert parameter.abs().max() <= 1 / math.sqrt(inputs)
            assert parameter.abs().max() > 0.9 / math.sqrt(inputs)


def test_what_was_learned_is_forgotten_on_reset() -> None:
    model = MLP(6, 5, 3, batch_norm=True)
    model(torch.randn(50, 6) + 3)
    assert model.get_buffer("norms.0.running_mean").any()
    before = weights_of(model)[0].clone()
    model.reset_parameters()
    assert not model.get_buffer("norms.0.running_mean").any()
    assert not torch.equal(weights_of(model)[0], before)


@pytest.mark.parametrize("width", [8, 64])
def test_dropout_acts_in_training_only(width: int) -> None:
    model = MLP(width, width, 3, dropout=0.5)
    x = torch.randn(20, width)
    assert not torch.equal(model(x), model(x))
    model.eval()
    assert torch.equal(model(x), model(x))


def test_the_input_of_every_layer_is_dropped_at_the_given_rate() -> None:
    # A linear map of ones that adds up its input: the output counts what was kept.
    model = MLP(1000, 1000, 1, num_layers=1, dropout=0.8)
    nn.init.ones_(weights_of(model)[0])
    kept = model(torch.ones(200, 1000)).detach() * 0.2 / 1000
    assert abs(float(kept.mean()) - 0.2) < 5 * math.sqrt(0.8 * 0.2 / 200_000)


@pytest.mark.parametrize(("hidden", "num_layers"), [(8, 1), (8, 2), (40, 1), (40, 2), (3, 3), (40, 3)])
@pytest.mark.parametrize("batch_norm", [False, True])
def test_an_input_that_is_made_on_the_way_gives_the_same(hidden: int, num_layers: int, batch_norm: bool) -> None:
    model = MLP(40, hidden, 3, num_layers, dropout=0.0, batch_norm=batch_norm)
    x, asked = torch.randn(20, 40), []

    def make_input(linear: Tensor | None = None) -> Tensor:
        asked.append(linear is not None)
        return x if linear is None else x @ linear.T

    assert torch.equal(model.forward_on(make_input), model(x))
    # A layer that adds its input has to have it.
    assert asked == [not (hidden == 40 and num_layers > 1)]
    seen: list[Tensor] = []
    model.eval().register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    assert torch.equal(model.forward_on(make_input), model(x))
    assert asked[1:] == [False]
    assert torch.equal(seen[0], x)


def test_an_input_that_is_made_on_the_way_is_not_dropped_again() -> None:
    model = MLP(40, 8, 3, num_layers=1, dropout=0.9)
    x = torch.randn(20, 40)
    assert torch.equal(model.forward_on(lambda linear: x @ linear.T), x @ weights_of(model)[0].T)
    assert model.rate == 0.9
    model.eval()
    assert model.rate == 0.0


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"num_layers": 0}, "num_layers must be a whole number of at least 1, not 0: the paper uses 2 to 6"),
        ({"hidden_channels": 0}, "hidden_channels must be a whole number of at least 1, not 0"),
        ({"dropout": 1.0}, "dropout must be below 1, not 1.0: nothing would be left"),
        ({"dropout": -0.1}, r"dropout must lie in \[0, 1\], not -0.1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MLP(**{"in_channels": 4, "hidden_channels": 4, "out_channels": 2} | setting)
