from __future__ import annotations

import pytest
import torch
from masks import check_share, check_unrelated
from torch import Tensor

from unifilter.kernels.dropout import dropout

FLOATS = [torch.float32, torch.float64]


def seeded(x: Tensor, p: float, seed: int = 0) -> Tensor:
    torch.manual_seed(seed)
    return dropout(x, p)


def mask(rows: int, columns: int, p: float, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return seeded(torch.ones(rows, columns, dtype=dtype), p, seed) > 0


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("columns", [7, 32, 33, 100])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_same_mask_falls_on_the_input_and_on_the_slope(dtype: torch.dtype, columns: int, transposed: bool) -> None:
    x = torch.randn(columns, 50, dtype=dtype).T if transposed else torch.randn(50, columns, dtype=dtype)
    x.requires_grad_()
    slope = torch.randn(columns, 50, dtype=dtype).T
    result = seeded(x, 0.4, seed=3)
    (gradient,) = torch.autograd.grad(result, x, slope)
    kept = result != 0
    assert 0 < kept.sum() < kept.numel()
    if columns >= 32:  # below, torch draws in the order of the memory
        assert torch.equal(kept, mask(50, columns, 0.4, seed=3, dtype=dtype))
    torch.testing.assert_close(result, x * kept / 0.6)
    torch.testing.assert_close(gradient, slope * kept / 0.6)


def test_slope_against_finite_differences_once_and_twice() -> None:
    x = torch.randn(5, 19, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: seeded(x, 0.5), x)
    assert torch.autograd.gradgradcheck(lambda x: seeded(x, 0.5).square(), x)


@pytest.mark.parametrize("columns", [20, 200])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_the_mask_is_a_fair_draw(columns: int, p: float) -> None:
    check_share(mask(1000, columns, p), p)


@pytest.mark.parametrize("columns", [20, 200])
def test_rows_columns_and_seeds_are_unrelated(columns: int) -> None:
    kept = mask(1000, columns, 0.5)
    for step in (1, 2, 16):
        check_unrelated(kept[step:], kept[:-step])
        check_unrelated(kept[:, step:], kept[:, :-step])
    check_unrelated(kept[1:, 1:], kept[:-1, :-1])
    check_unrelated(kept, mask(1000, columns, 0.5, seed=1))


def test_torch_governs_the_seed() -> None:
    x = torch.randn(60, 40)
    assert torch.equal(seeded(x, 0.5, seed=1), seeded(x, 0.5, seed=1))
    assert not torch.equal(seeded(x, 0.5, seed=1), dropout(x, 0.5))


def test_the_mean_over_many_masks_is_the_input() -> None:
    x = torch.randn(30, 40, dtype=torch.float64)
    mean = torch.stack([seeded(x, 0.5, seed) for seed in range(400)]).mean(dim=0)
    assert ((mean - x) / (x.abs() / 20)).abs().max() < 6


def test_nothing_is_dropped_where_the_share_is_nothing() -> None:
    x = torch.randn(4, 40)
    assert dropout(x, 0.0) is x
    assert torch.equal(dropout(x, 1e-12), x)


@pytest.mark.parametrize("x", [torch.ones(900), torch.ones(9, 10, 40), torch.ones(30, 64, dtype=torch.bfloat16)])
def test_other_shapes_and_half_precision_are_left_to_torch(x: Tensor) -> None:
    result = seeded(x, 0.5)
    assert result.dtype == x.dtype
    assert set(result.unique().tolist()) == {0.0, 2.0}


def test_no_rows() -> None:
    assert dropout(torch.ones(0, 40), 0.5).shape == (0, 40)


def test_the_number_of_threads_changes_nothing() -> None:
    before, x = torch.get_num_threads(), torch.randn(200, 40)
    try:
        results = []
        for count in (1, 2, 5):
            torch.set_num_threads(count)
            results.append(seeded(x, 0.5))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])
