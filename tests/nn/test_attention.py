from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from unifilter.nn import attention as module
from unifilter.nn.attention import attention

HEADS, LENGTH, CHANNELS = 2, 70, 4


def inputs(seed: int = 0, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(HEADS, LENGTH, CHANNELS, dtype=dtype, generator=generator).requires_grad_() for _ in range(3)]


def mask_of(p: float, seed: int) -> Tensor:
    """What dropout does to the weights, seen through values that are the identity."""
    torch.manual_seed(seed)
    zeros = torch.zeros(HEADS, LENGTH, LENGTH, dtype=torch.float64)
    return attention(zeros, zeros, torch.eye(LENGTH, dtype=torch.float64).expand_as(zeros), p) * LENGTH


@pytest.fixture(params=[1 << 19, 7 * HEADS * LENGTH, 1], ids=["whole", "parts", "rows"])
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WEIGHTS_AT_ONCE", request.param)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_without_dropout_it_is_torch_s(dtype: torch.dtype) -> None:
    q, k, v = inputs(dtype=dtype)
    torch.testing.assert_close(attention(q, k, v), scaled_dot_product_attention(q, k, v))


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize(
    ("dtype", "spread"), [(torch.float32, 1.0), (torch.float64, 1.0), (torch.float64, 30.0)], ids=str
)
def test_with_dropout_it_is_the_formula_with_the_same_mask(dtype: torch.dtype, spread: float) -> None:
    q, k, v = inputs(dtype=dtype)
    q, k = q * spread, k + spread - 1  # where the spread is large, weights down to exp(-400), and scores far from zero
    mask = mask_of(0.3, seed=5).to(dtype)
    torch.manual_seed(5)
    found = attention(q, k, v, 0.3)
    expected = (torch.softmax(q @ k.mT / CHANNELS**0.5, dim=2) * mask) @ v
    torch.testing.assert_close(found, expected)
    slope = torch.randn(found.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).to(dtype)
    torch.testing.assert_close(
        torch.autograd.grad(found, (q, k, v), slope), torch.autograd.grad(expected, (q, k, v), slope)
    )


@pytest.mark.usefixtures("parts")
def test_the_mask_drops_the_share_and_keeps_the_expectation() -> None:
    mask = mask_of(0.3, seed=1)
    kept = mask > 0
    # 9,800 elements: four standard deviations are 0.019.
    assert kept.double().mean() == pytest.approx(0.7, abs=0.019)
    assert torch.allclose(mask[kept], torch.tensor(1 / 0.7, dtype=torch.float64))
    assert torch.equal(mask, mask_of(0.3, seed=1))
    assert not torch.equal(mask, mask_of(0.3, seed=2))
    assert len({row.numpy().tobytes() for row in kept.flatten(0, 1)}) == HEADS * LENGTH  # no row repeats another


def test_the_mask_does_not_depend_on_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WEIGHTS_AT_ONCE", HEADS * LENGTH * LENGTH)
    whole = mask_of(0.5, seed=3)
    monkeypatch.setattr(module, "_WEIGHTS_AT_ONCE", 1)
    assert torch.equal(whole, mask_of(0.5, seed=3))


@pytest.mark.parametrize("place", [0, LENGTH // 2, LENGTH - 1])
def test_one_key_can_take_it_all(place: int) -> None:
    """Wherever it is: also in the last columns, which do not fill a vector."""
    q, k, v = torch.ones(3, 1, LENGTH, CHANNELS, dtype=torch.float64)
    k[:, place] = 1e4
    v[:] = torch.arange(LENGTH)[:, None]
    found = attention(q, k, v, 0.5)
    # What is dropped leaves the others, whose weights are as small as a number can be.
    assert sorted(found.round(decimals=9).unique().tolist()) == sorted({0.0, 2.0 * place})


@pytest.mark.parametrize("which", [0, 1, 2], ids=["query", "key", "value"])
def test_what_is_no_number_is_not_hidden(which: int) -> None:
    parts = inputs()
    with torch.no_grad():
        parts[which][1, 3, 0] = float("nan")
    found = attention(*parts, 0.5).isnan()
    assert not found[0].any()
    assert found[1, 3].all() if which == 0 else found[1].any(dim=1).sum() > LENGTH // 4


def test_few_keys_work_too() -> None:
    q, k, v = (x[:, :5] for x in inputs())
    torch.testing.assert_close(attention(q, k, v), scaled_dot_product_attention(q, k, v))
    mean = torch.stack([attention(q, k, v, 0.5).detach() for _ in range(4000)]).mean(dim=0)
    torch.testing.assert_close(mean, attention(q, k, v).detach(), atol=0.1, rtol=0)


def test_nothing_as_large_as_all_weights_is_kept_for_the_backward_pass() -> None:
    saved: list[int] = []

    def remember(tensor: Tensor) -> Tensor:
        saved.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(remember, lambda tensor: tensor):
        attention(*inputs(), 0.5)
    assert max(saved) == HEADS * LENGTH * CHANNELS


def test_weights_are_worked_on_in_parts_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WEIGHTS_AT_ONCE", 5 * LENGTH)
    q, k, _ = inputs()
    assert {tuple(weights.shape) for *_, weights, _ in module._parts(q, k)} == {(5, LENGTH)}
