from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unifilter._internal.checks import without_torch_notices
from unifilter.data import column_scales, scale_spread
from unifilter.data.column_scales import column_deviations


def sparse(x: torch.Tensor) -> torch.Tensor:
    with without_torch_notices():
        return x.to_sparse_csr()


@given(
    st.integers(1, 30), st.integers(1, 5), st.integers(0, 2**32 - 1), st.sampled_from([torch.float32, torch.float64])
)
def test_they_are_numpys_dense_or_sparse(rows: int, columns: int, seed: int, dtype: torch.dtype) -> None:
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(rng.normal(3.0, 10.0 ** rng.integers(-3, 4, columns), (rows, columns))).to(dtype)
    x[torch.from_numpy(rng.random((rows, columns)) < 0.5)] = 0
    expected = x.double().numpy().std(axis=0)
    for features in (x, sparse(x)):
        np.testing.assert_allclose(column_deviations(features), expected, rtol=1e-9, atol=1e-12)
    varying = [spread for spread, column in zip(expected, x.T, strict=True) if len(column.unique()) > 1]
    spread = max(varying) / min(varying) if varying else 1.0
    assert scale_spread(x) == pytest.approx(spread)
    assert scale_spread(sparse(x)) == pytest.approx(spread)


def test_blocks_of_rows_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    whole = column_deviations(x)
    monkeypatch.setattr(column_scales, "_BLOCK_ROWS", 7)
    torch.testing.assert_close(column_deviations(x), whole)


def test_a_constant_column_has_no_deviation_at_all() -> None:
    # The mean of many equal numbers is not always that number.
    x = torch.full((1001, 3), 0.1)
    x[:, 1] = torch.arange(1001)
    x[:, 2] = 0
    for features in (x, sparse(x)):
        assert (column_deviations(features) > 0).tolist() == [False, True, False]
        assert scale_spread(features) == 1
        assert scale_spread(features[:, :1] if features is x else sparse(x[:, :1])) == 1


def test_sparse_features_are_never_made_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, columns = 2000, 50_000  # 800 MB where they were dense
    x = torch.sparse_coo_tensor(torch.tensor([[0, 1, 5], [7, 7, 9]]), torch.tensor([1.0, 3.0, 100.0]), (rows, columns))
    features = sparse(x)

    def refuse(*_: object) -> None:
        pytest.fail("the features became dense")

    monkeypatch.setattr(torch.Tensor, "to_dense", refuse)
    column = np.zeros(rows)
    column[:2] = 1, 3
    other = np.zeros(rows)
    other[5] = 100
    assert scale_spread(features) == pytest.approx(other.std() / column.std())
