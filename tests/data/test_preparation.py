"""Features as a network takes them: fitted on training rows, the same on new data, stored as plain data."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from unifilter.data import ArrayPreparation, DataWarning, Table, TableEncoder, TablePreparation, preparation_from_dict
from unifilter.data.features import SCALINGS, pack_features

ROWS, COLUMNS = 20, 6
TRAIN = np.array([1, 2, 3, 5, 8, 13])


def dense(seed: int = 0) -> np.ndarray:
    """Different scales, a constant column and one that is constant on the training rows."""
    x = np.random.default_rng(seed).standard_normal((ROWS, COLUMNS)) * 10.0 ** np.arange(COLUMNS) + 3
    x[:, 1] = 0.1
    x[TRAIN, 2] = -7.0
    return x


def sparse(seed: int = 0) -> sp.csr_array:
    """Few enough entries to be kept sparse; the last column is full and constant, the one before empty."""
    random = np.random.default_rng(seed)
    x = np.where(random.random((40, 30)) < 0.06, random.uniform(1, 5, (40, 30)), 0.0)
    x[:, -1], x[:, -2] = 0.1, 0.0
    return sp.csr_array(x)


def as_dense(x: Tensor) -> np.ndarray:
    return (x if x.layout == torch.strided else x.to_dense()).numpy()


def frame(**changes: Any) -> pd.DataFrame:
    columns = {
        "age": [20.0, 30.0, 40.0, 50.0, 60.0, np.nan],
        "city": ["Bonn", "Rome", "Bonn", "Rome", "Bonn", "Rome"],
    }
    return pd.DataFrame({**columns, **changes})


@given(st.integers(0, 999))
def test_columns_are_standardized_by_training_rows_alone(seed: int) -> None:
    x = dense(seed)
    fitted = ArrayPreparation.fit(torch.from_numpy(x), "standard", TRAIN)
    scaler = StandardScaler().fit(x[TRAIN])
    np.testing.assert_allclose(fitted.prepare(x, torch.float64), scaler.transform(x), rtol=1e-9, atol=1e-9)
    others = np.setdiff1d(np.arange(ROWS), TRAIN)
    changed = x.copy()
    changed[others] = 1e6
    again = ArrayPreparation.fit(torch.from_numpy(changed), "standard", TRAIN)
    np.testing.assert_array_equal(again.center, fitted.center)
    np.testing.assert_array_equal(again.scale, fitted.scale)


def test_without_rows_all_count() -> None:
    found = ArrayPreparation.fit(torch.from_numpy(dense()), "standard").apply(torch.from_numpy(dense())).numpy()
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(np.delete(found.std(axis=0), 1), 1)


@given(st.integers(0, 999))
def test_sparse_features_stay_sparse_and_are_not_centered(seed: int) -> None:
    x, rows = sparse(seed), np.arange(0, 40, 3)
    packed = pack_features(x, torch.float64)
    assert packed.layout == torch.sparse_csr
    fitted = ArrayPreparation.fit(packed, "standard", rows)
    found = fitted.apply(packed)
    assert fitted.center is None
    assert found.layout == torch.sparse_csr
    scaler = StandardScaler(with_mean=False).fit(x[rows])
    np.testing.assert_allclose(as_dense(found), scaler.transform(x).toarray(), rtol=1e-9)
    # A constant column, an empty one among them, has no deviation but a rounding error: it stays as it is.
    np.testing.assert_array_equal(fitted.scale[-2:], 1.0)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_one_fit_treats_sparse_and_dense_the_same(scaling: Any) -> None:
    packed = pack_features(sparse(), torch.float64)
    for features in (packed, packed.to_dense()):
        fitted = ArrayPreparation.fit(features, scaling)
        np.testing.assert_allclose(
            as_dense(fitted.apply(packed)), as_dense(fitted.apply(packed.to_dense())), rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize("scaling", ["raw", "row", "l2"])
def test_scaling_of_rows_needs_no_fit(scaling: Any) -> None:
    fitted = ArrayPreparation.fit(torch.from_numpy(dense()), scaling, TRAIN)
    assert (fitted.center, fitted.scale, fitted.num_features) == (None, None, COLUMNS)
    alone = np.concatenate([fitted.prepare(row[None], torch.float64) for row in dense()])
    np.testing.assert_array_equal(fitted.prepare(dense(), torch.float64), alone)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scaling", SCALINGS)
def test_the_precision_is_the_one_asked_for(scaling: Any, dtype: torch.dtype) -> None:
    fitted = ArrayPreparation.fit(torch.from_numpy(dense()), scaling)
    assert fitted.prepare(dense(), dtype).dtype == dtype
    assert fitted.prepare(sp.csr_array((3, COLUMNS)), dtype).dtype == dtype


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("kind", [dense, sparse])
def test_arrays_are_prepared_the_same_from_what_is_stored(scaling: Any, kind: Any) -> None:
    fitted = ArrayPreparation.fit(pack_features(kind(), torch.float64), scaling)
    again = preparation_from_dict(json.loads(json.dumps(fitted.to_dict(), allow_nan=False)))
    assert isinstance(again, ArrayPreparation)
    assert again.to_dict() == fitted.to_dict()
    found, expected = again.prepare(kind(), torch.float64), fitted.prepare(kind(), torch.float64)
    np.testing.assert_array_equal(as_dense(found), as_dense(expected))
    assert (again.names, again.columns_in, again.groups) == (None, None, None)


def test_what_is_stored_must_be_a_scaling() -> None:
    stored = {**ArrayPreparation(3).to_dict(), "scaling": "columns"}
    with pytest.raises(ValueError, match="features must be one of 'raw', 'row', 'l2', 'standard', not 'columns'"):
        preparation_from_dict(stored)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (
            np.zeros((4, 5)),
            "x has 5 feature columns, but the model was trained on 6: pass the same columns in the same",
        ),
        (frame(), "the model was trained on an array, but x is a table: pass an array with the same columns, or train"),
        (Table.from_frame(frame()), "the model was trained on an array, but x is a table"),
        (np.full((4, 6), np.nan), "the features contain NaN or infinity: impute or drop these values first"),
        (sp.csr_array(([np.inf], ([3], [2])), shape=(40, 6)), "the features contain NaN or infinity"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(x: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ArrayPreparation(6, "row").prepare(x, torch.float32)


def test_a_scaling_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="features must be one of 'raw', 'row', 'l2', 'standard', not 'columns'"):
        ArrayPreparation.fit(torch.zeros(2, 2), "columns")  # type: ignore[arg-type]


def test_a_table_is_encoded_and_matched_by_name() -> None:
    table = Table.from_frame(frame())
    fitted = TablePreparation(TableEncoder.fit(table))
    found = fitted.prepare(frame(), torch.float32)
    np.testing.assert_array_equal(found, TableEncoder.fit(table).encode(table).matrix.astype(np.float32))
    np.testing.assert_array_equal(fitted.prepare(table, torch.float32), found)
    np.testing.assert_array_equal(fitted.prepare(frame()[["city", "age"]], torch.float32), found)
    assert fitted.columns_in == ("age", "city")
    assert fitted.num_features == len(fitted.names) == len(fitted.groups) == found.shape[1]
    assert [fitted.columns_in[group] for group in fitted.groups] == [
        name.split()[0].split("=")[0] for name in fitted.names
    ]
    again = preparation_from_dict(json.loads(json.dumps(fitted.to_dict(), allow_nan=False)))
    assert again.to_dict() == fitted.to_dict()
    np.testing.assert_array_equal(again.prepare(frame(), torch.float64), fitted.prepare(frame(), torch.float64))


def test_a_category_that_training_never_saw_warns_but_not_in_the_table_of_the_training_rows() -> None:
    fitted = TablePreparation(TableEncoder.fit(Table.from_frame(frame()), np.arange(4)))
    other = frame(age=30.0, city=["Bonn", "Rome", "Bonn", "Rome", "Oslo", "Oslo"])
    with pytest.warns(DataWarning, match=r"column 'city': 2 of 6 rows have a value that does not occur .*\('Oslo'\)"):
        warned = fitted.prepare(other, torch.float32)
    np.testing.assert_array_equal(fitted.prepare_known(Table.from_frame(other), torch.float32), warned)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (
            np.zeros((6, 2)),
            "the model was trained on a table with the columns 'age', 'city', but x is a ndarray: pass a",
        ),
        (torch.zeros(6, 2), "but x is a Tensor: pass a DataFrame with these columns"),
        (frame().drop(columns="city"), "x lacks the column 'city', which training had: add or rename"),
        (frame(size=1.0), "x has the column 'size', which training did not have: drop or rename"),
    ],
)
def test_tables_that_do_not_fit_are_refused(x: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TablePreparation(TableEncoder.fit(Table.from_frame(frame()))).prepare(x, torch.float32)
