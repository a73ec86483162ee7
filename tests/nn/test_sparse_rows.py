from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from unifilter._internal.checks import without_torch_notices
from unifilter.kernels.dropout import drop_rows
from unifilter.nn.sparse_rows import SparseRows

FLOATS = [torch.float32, torch.float64]


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def draw(rows: int, columns: int, share: float = 0.1, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(rows + columns)
    dense = torch.randn(rows, columns, dtype=dtype, generator=generator)
    return dense * (torch.rand(rows, columns, generator=generator) < share)


def sparse(dense: Tensor) -> SparseRows:
    with without_torch_notices():
        return SparseRows(dense.to_sparse_csr())


# Less than a vector register, a whole one, one with a rest, and several with and without.
@pytest.mark.parametrize("channels", [1, 4, 7, 32, 33, 64])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(50, 90), (1, 40), (40, 1)])
def test_product_and_slope_are_those_of_the_dense_matrix(
    shape: tuple[int, int], dtype: torch.dtype, channels: int
) -> None:
    dense = draw(*shape, dtype=dtype)
    factor = torch.randn(shape[1], channels, dtype=dtype, requires_grad=True)
    slope = torch.randn(shape[0], channels, dtype=dtype)
    product = sparse(dense) @ factor
    expected = dense @ factor
    tolerance = 50 * torch.finfo(dtype).eps
    assert product.dtype == dtype
    assert product.is_contiguous()
    torch.testing.assert_close(product, expected, atol=tolerance, rtol=tolerance)
    gradients = [torch.autograd.grad(one, factor, slope)[0] for one in (product, expected)]
    torch.testing.assert_close(*gradients, atol=tolerance, rtol=tolerance)


def test_rows_and_columns_without_entries_give_zero() -> None:
    dense = torch.zeros(9, 30)
    dense[4, 7] = 2.0
    rows, factor = sparse(dense), torch.ones(30, 5, requires_grad=True)
    product = rows @ factor
    assert product.sum(dim=1).tolist() == [0, 0, 0, 0, 10, 0, 0, 0, 0]
    product.sum().backward()
    assert factor.grad is not None
    assert factor.grad.nonzero()[:, 0].unique().tolist() == [7]
    assert not (sparse(torch.zeros(3, 4)) @ torch.ones(4, 2)).any()


def test_a_factor_in_another_order_of_memory_gives_the_same() -> None:
    dense, factor = draw(30, 50), torch.randn(50, 7, dtype=torch.float64)
    turned = factor.T.contiguous().T
    assert torch.equal(sparse(dense) @ turned, sparse(dense) @ factor)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_the_mask_is_that_of_the_dense_matrix(dtype: torch.dtype, p: float) -> None:
    dense = draw(200, 300, share=0.2, dtype=dtype)
    dropped = sparse(dense).dropped(p, seed=2**62 - 1).times(torch.eye(300, dtype=dtype))
    assert torch.equal(dropped, drop_rows(dense, p, 2**62 - 1))
    assert float((dropped[dense != 0] == 0).double().mean()) == pytest.approx(p, abs=0.02)


def test_without_dropout_nothing_is_copied_and_with_it_nothing_is_changed() -> None:
    rows, factor = sparse(draw(20, 60)), torch.eye(60, dtype=torch.float64)
    before = rows.times(factor)
    assert rows.dropped(0.0, seed=1) is rows
    assert not torch.equal(rows.dropped(0.5, seed=1).times(factor), before)
    assert torch.equal(rows.times(factor), before)


@pytest.mark.usefixtures("threads")
def test_the_number_of_threads_changes_nothing() -> None:
    rows, factor, slope = sparse(draw(400, 500, 0.5)), torch.randn(500, 64).double(), torch.randn(400, 64).double()
    results = []
    for count in (1, 2, 5):
        torch.set_num_threads(count)
        results.append((rows.times(factor), rows.transposed_times(slope)))
    for other in results[1:]:
        assert all(torch.equal(left, right) for left, right in zip(results[0], other, strict=True))


def test_a_second_derivative_is_refused_rather_than_wrong() -> None:
    factor = torch.ones(6, 5, requires_grad=True)
    product = sparse(draw(8, 6, 0.5, torch.float32)) @ factor
    (slope,) = torch.autograd.grad(product.square().sum(), factor, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_squared_lengths_and_other_values_in_the_same_places() -> None:
    dense = torch.tensor([[0.0, 2.0, 1.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    with without_torch_notices():
        rows = SparseRows(dense.to_sparse_csr())
    assert rows.squared_lengths().tolist() == [[5.0], [0.0], [9.0]]
    other = rows.with_values(torch.tensor([5.0, 6.0, 7.0]))
    assert other.to_dense().tolist() == [[0.0, 5.0, 6.0], [0.0, 0.0, 0.0], [7.0, 0.0, 0.0]]
    assert torch.equal(other.transposed_times(torch.eye(3)), other.to_dense().T)
    assert torch.equal(rows.to_dense(), dense)


def test_the_transposed_copy_has_narrow_indices_in_the_order_of_the_columns() -> None:
    dense = torch.tensor([[0.0, 2.0, 3.0], [4.0, 5.0, 0.0]])
    rows = SparseRows(dense.to_sparse_csr())
    starts, places = rows._by_column
    assert rows._order is not None
    assert {part.dtype for part in (starts, places, rows._order)} == {torch.int32}
    assert starts.tolist() == [0, 1, 3, 4]
    assert places.tolist() == [1, 0, 1, 0]
    assert rows._values[rows._order].tolist() == [4, 2, 5, 3]
