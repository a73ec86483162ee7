from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
import torch
from masks import check_share, check_unrelated
from torch import Tensor

from unifilter.kernels.combine_rows import combine_rows
from unifilter.kernels.dropout import dropout

FLOATS = [torch.float32, torch.float64]
# Fewer than the lanes of a row, exactly the lanes, one more, several with a rest, and more than are worked on together.
CHANNELS = [5, 16, 17, 32, 77, 1040]
# Less than a group of rows in each part, and a whole group with a rest or without.
ROW_COUNTS = [1, 11, 32, 43]


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def draw(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def mask(hops: int, rows: int, channels: int, p: float, seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """What is kept, ``[hops, rows, channels]``: the result for a basis of ones, one vector at a time."""
    ones, nodes = torch.ones(hops, rows, channels, dtype=dtype), torch.arange(rows)
    unit = torch.eye(hops, dtype=dtype)
    return torch.stack(
        [combine_rows(ones, None, unit[k][:, None].expand(-1, channels), nodes, p, seed) > 0 for k in range(hops)]
    )


def dense_sum(
    vectors: Tensor, coefficients: Tensor | None, weights: Tensor, nodes: Tensor, kept: Tensor | float, p: float
) -> Tensor:
    basis = vectors if coefficients is None else torch.einsum("kic,inc->knc", coefficients, vectors)
    return (weights[:, None] * basis[:, nodes] * kept / (1 - p)).sum(dim=0)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("with_coefficients", [False, True])
@pytest.mark.parametrize("p", [0.0, 0.4])
@pytest.mark.parametrize("rows", ROW_COUNTS)
def test_sum_and_slope_are_those_of_the_dense_basis(
    dtype: torch.dtype, channels: int, with_coefficients: bool, p: float, rows: int
) -> None:
    vectors = draw(4, 30, channels, dtype=dtype)
    coefficients = draw(3, 4, channels, dtype=dtype, seed=1) if with_coefficients else None
    if coefficients is not None:
        coefficients[1, 2:] = 0
        coefficients[2] = 0
    count = 3 if with_coefficients else 4
    weights = draw(count, channels, dtype=dtype, seed=2).requires_grad_()
    nodes = torch.randint(30, (rows,), generator=torch.Generator().manual_seed(4))  # in any order, some twice
    slope = draw(len(nodes), channels, dtype=dtype, seed=3)

    result = combine_rows(vectors, coefficients, weights, nodes, p, seed=5)
    (gradient,) = torch.autograd.grad(result, weights, slope)

    kept = mask(count, len(nodes), channels, p, 5, dtype)
    expected = dense_sum(vectors, coefficients, weights, nodes, kept, p)
    (expected_gradient,) = torch.autograd.grad(expected, weights, slope)
    assert result.dtype == gradient.dtype == dtype
    tolerance = 100 * torch.finfo(dtype).eps
    torch.testing.assert_close(result, expected, atol=tolerance, rtol=tolerance)
    torch.testing.assert_close(gradient, expected_gradient, atol=tolerance, rtol=tolerance)
    assert (p > 0) == bool((~kept).any())


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("with_coefficients", [False, True])
@pytest.mark.parametrize("p", [0.0, 0.4])
def test_dropout_on_the_result_is_dropout_after_the_sum(
    dtype: torch.dtype, channels: int, with_coefficients: bool, p: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors, nodes = draw(3, 20, channels, dtype=dtype), torch.tensor([7, 0, 19, 7, 12, 3, 18, 1, 2] * 5)
    coefficients = draw(3, 3, channels, dtype=dtype, seed=1) if with_coefficients else None
    weights = draw(3, channels, dtype=dtype, seed=2).requires_grad_()
    slope = draw(len(nodes), channels, dtype=dtype, seed=3)

    together = combine_rows(vectors, coefficients, weights, nodes, p, 5, 0.6, 8)
    plain = combine_rows(vectors, coefficients, weights, nodes, p, 5)
    kept = combine_rows(torch.ones(1, 20, channels, dtype=dtype), None, weights[:1] * 0 + 1, nodes, 0.0, 0, 0.6, 8) > 0
    check_share(kept, 0.6)
    torch.testing.assert_close(together, plain * kept / 0.4)
    gradients = [torch.autograd.grad(one, weights, slope)[0] for one in (together, plain * kept / 0.4)]
    torch.testing.assert_close(*gradients)
    if channels >= 32:  # the same bits as the kernel that drops after the sum, so that either may stand for the other
        monkeypatch.setattr("unifilter.kernels.dropout.draw_seed", lambda: 8)
        assert torch.equal(together, dropout(plain, 0.6))


@pytest.mark.parametrize("layout", ["transposed", "sliced", "channels first"])
@pytest.mark.parametrize("p", [0.0, 0.5])
def test_any_layout_of_the_vectors_gives_the_same(layout: str, p: float) -> None:
    vectors = draw(3, 20, 40)
    other = {
        "transposed": vectors.transpose(0, 1).contiguous().transpose(0, 1),
        "sliced": torch.cat([vectors, vectors], dim=2)[:, :, :40],
        "channels first": vectors.permute(2, 0, 1).contiguous().permute(1, 2, 0),
    }[layout]
    assert not other.is_contiguous()
    weights, nodes = draw(3, 40, seed=1).requires_grad_(), torch.arange(19, -1, -2)
    results = [combine_rows(v, None, weights, nodes, p, seed=1) for v in (vectors, other)]
    assert torch.equal(*results)
    gradients = [torch.autograd.grad(result.square().sum(), weights)[0] for result in results]
    assert torch.equal(*gradients)


@pytest.mark.parametrize("channels", [5, 40])
def test_no_nodes_give_no_rows_and_no_slope(channels: int) -> None:
    weights = torch.ones(3, channels, requires_grad=True)
    result = combine_rows(torch.ones(3, 9, channels), None, weights, torch.arange(0), 0.5)
    assert result.shape == (0, channels)
    result.sum().backward()
    assert weights.grad is not None
    assert weights.grad.tolist() == torch.zeros(3, channels).tolist()


@pytest.mark.parametrize("with_coefficients", [False, True])
@pytest.mark.parametrize("p", [0.0, 0.3])
def test_slope_against_finite_differences(with_coefficients: bool, p: float) -> None:
    vectors, nodes = draw(3, 7, 19), torch.tensor([6, 2, 2, 0])
    coefficients = draw(2, 3, 19, seed=1) if with_coefficients else None
    weights = draw(2 if with_coefficients else 3, 19, seed=2).requires_grad_()
    assert torch.autograd.gradcheck(lambda w: combine_rows(vectors, coefficients, w, nodes, p, seed=4), weights)


@pytest.mark.parametrize("channels", [5, 40])
@pytest.mark.parametrize("with_coefficients", [False, True])
@pytest.mark.parametrize("p", [0.0, 0.3])
def test_a_linear_layer_behind_it_is_that_of_torch(channels: int, with_coefficients: bool, p: float) -> None:
    vectors, nodes = draw(3, 9, channels), torch.tensor([6, 2, 2, 0, 8])
    coefficients = draw(2, 3, channels, seed=1) if with_coefficients else None
    weights = draw(2 if with_coefficients else 3, channels, seed=2).requires_grad_()
    linear = draw(4, channels, seed=3).requires_grad_()
    masks = (p, 4, p / 2, 5)

    together = combine_rows(vectors, coefficients, weights, nodes, *masks, linear=linear)
    apart = combine_rows(vectors, coefficients, weights, nodes, *masks) @ linear.T
    torch.testing.assert_close(together, apart, rtol=1e-12, atol=1e-12)
    slope = draw(5, 4, seed=6)
    expected = torch.autograd.grad(apart, (weights, linear), slope)
    # The first pass backward writes over the sums: the second has to be as good.
    for keep in (True, False):
        found = torch.autograd.grad(together, (weights, linear), slope, retain_graph=keep)
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_a_linear_layer_behind_it_in_half_precision_gives_slopes_in_full() -> None:
    vectors, nodes = draw(3, 9, 40, dtype=torch.float32), torch.arange(9)
    weights, linear = torch.ones(3, 40, requires_grad=True), draw(4, 40, dtype=torch.float32).requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        result = combine_rows(vectors, None, weights, nodes, linear=linear)
    assert result.dtype == torch.bfloat16
    found = torch.autograd.grad(result.float().sum(), (weights, linear))
    expected = torch.autograd.grad(combine_rows(vectors, None, weights, nodes, linear=linear).sum(), (weights, linear))
    assert [slope.dtype for slope in found] == [torch.float32] * 2
    torch.testing.assert_close(found, expected, rtol=0.02, atol=0.02)


def test_a_second_derivative_is_refused_rather_than_wrong() -> None:
    weights = torch.ones(2, 40, requires_grad=True)
    result = combine_rows(torch.ones(2, 5, 40), None, weights, torch.arange(5))
    (slope,) = torch.autograd.grad(result.square().sum(), weights, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


@pytest.mark.parametrize("channels", [5, 40])
@pytest.mark.parametrize("p", [0.0, 0.5])
def test_vectors_and_coefficients_that_are_learned_get_their_slope(channels: int, p: float) -> None:
    vectors, coefficients = draw(3, 8, channels).requires_grad_(), draw(2, 3, channels, seed=1).requires_grad_()
    weights, nodes = draw(2, channels, seed=2).requires_grad_(), torch.tensor([1, 5, 5])
    inputs = (vectors, coefficients, weights)
    result = combine_rows(vectors, coefficients, weights, nodes, p, seed=3)
    assert all(slope.any() for slope in torch.autograd.grad(result.sum(), inputs))
    assert torch.autograd.gradcheck(lambda v, c, w: combine_rows(v, c, w, nodes, p, seed=3), inputs)


def test_half_precision_is_left_to_torch() -> None:
    vectors = draw(3, 8, 64).bfloat16()
    result = combine_rows(vectors, None, torch.ones(3, 64), torch.arange(8))
    torch.testing.assert_close(result.double(), vectors.double().sum(dim=0), atol=0.1, rtol=0.02)


def test_weights_of_another_precision_get_their_slope_in_it() -> None:
    weights = torch.ones(3, 40, dtype=torch.float64, requires_grad=True)
    result = combine_rows(draw(3, 6, 40, dtype=torch.float32), None, weights, torch.arange(6))
    assert result.dtype == torch.float32
    result.sum().backward()
    assert weights.grad is not None
    assert weights.grad.dtype == torch.float64


@pytest.mark.parametrize("channels", [20, 200])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_each_mask_is_a_fair_draw(channels: int, p: float) -> None:
    for kept in mask(4, 500, channels, p, seed=7):
        check_share(kept, p)


@pytest.mark.parametrize("channels", [20, 200])
def test_hops_rows_columns_and_seeds_are_unrelated(channels: int) -> None:
    kept = mask(4, 500, channels, 0.5, seed=0)
    for left, right in itertools.combinations(kept, 2):
        check_unrelated(left, right)
    for step in (1, 2, 16):
        check_unrelated(kept[:, step:], kept[:, :-step])
        check_unrelated(kept[:, :, step:], kept[:, :, :-step])
    # The diagonal neighbors too: a mask that is shifted from row to row or from hop to hop is no new draw.
    check_unrelated(kept[:, 1:, 1:], kept[:, :-1, :-1])
    check_unrelated(kept[1:, 1:], kept[:-1, :-1])
    check_unrelated(kept[1:, :, 1:], kept[:-1, :, :-1])
    for seed in (1, 2, 2**31):
        check_unrelated(kept, mask(4, 500, channels, 0.5, seed))


@pytest.mark.parametrize("channels", [20, 64])
def test_the_same_seed_is_the_same_mask_and_the_mean_over_seeds_the_undropped_sum(channels: int) -> None:
    vectors, weights, nodes = draw(4, 50, channels), draw(4, channels, seed=1), torch.arange(50)
    first, again = (combine_rows(vectors, None, weights, nodes, 0.5, seed=9) for _ in range(2))
    assert torch.equal(first, again)
    plain = combine_rows(vectors, None, weights, nodes)
    errors = [combine_rows(vectors, None, weights, nodes, 0.5, seed) - plain for seed in range(400)]
    # One element's variance is p / (1 - p) times the sum of the squared terms.
    deviation = ((weights[:, None] * vectors) ** 2).sum(dim=0).sqrt() / 20
    standard = torch.stack(errors).mean(dim=0) / deviation
    assert standard.abs().max() < 6
    assert abs(float(standard.square().mean()) - 1) < 0.2


@pytest.mark.parametrize("with_coefficients", [False, True])
@pytest.mark.usefixtures("threads")
def test_the_number_of_threads_changes_nothing(with_coefficients: bool) -> None:
    vectors = draw(4, 300, 77, dtype=torch.float32)
    coefficients = draw(4, 4, 77, dtype=torch.float32, seed=1) if with_coefficients else None
    weights, nodes = draw(4, 77, dtype=torch.float32, seed=2).requires_grad_(), torch.arange(0, 300, 2)
    results = []
    for count in (1, 2, 5):
        torch.set_num_threads(count)
        result = combine_rows(vectors, coefficients, weights, nodes, 0.3, seed=1)
        # No sum of torch's own in between: only what the kernels do is compared.
        results.append((result, *torch.autograd.grad(result, weights, torch.ones_like(result))))
    for other in results[1:]:
        assert all(torch.equal(left, right) for left, right in zip(results[0], other, strict=True))
