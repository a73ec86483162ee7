from __future__ import annotations

import datetime as dt
import json
import pickle
import re
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler

from unifilter.data import Table, TableEncoder


def people(rows: int = 40) -> Table:
    """Every kind of column, with and without missing values."""
    rng = np.random.default_rng(1)
    age = rng.normal(40, 10, rows)
    age[3] = np.nan
    return Table.from_columns(
        {
            "age": age,
            "amount": rng.lognormal(3, 3, rows),
            "since": [None if row == 5 else f"20{10 + row % 9}-0{1 + row % 9}-11" for row in range(rows)],
            "city": [None if row == 7 else ["Bonn", "Rome", "Lyon"][row % 3] for row in range(rows)],
            "member": [row % 4 == 0 for row in range(rows)],
        },
        ids=[f"n{row}" for row in range(rows)],
        where="nodes.csv",
    )


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else matrix


def numbers(values: Any) -> Table:
    return Table.from_columns({"x": values})


def test_names_kinds_and_groups() -> None:
    encoder = TableEncoder.fit(people())
    assert encoder.feature_names_in == ("age", "amount", "since", "city", "member")
    assert encoder.feature_names_out == (
        "age",
        "age (missing)",
        "amount",
        "since",
        "since (missing)",
        "city=Bonn",
        "city=Lyon",
        "city=Rome",
        "city=(missing)",
        "city=(other)",
        "member=False",
        "member=True",
        "member=(other)",
    )
    assert encoder.groups == (0, 0, 1, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4)
    assert encoder.num_features == 13
    assert encoder.kinds == {
        "age": "number",
        "amount": "number",
        "since": "date",
        "city": "category",
        "member": "category",
    }
    assert encoder.id_name == "id"
    assert encoder.notes == ()
    encoded = encoder.encode(people())
    assert encoded.matrix.shape == (40, 13)
    assert encoded.matrix.dtype == np.float64
    assert encoded.notes == ()


@pytest.mark.parametrize("gaps", [False, True])
def test_standardized_numbers_are_what_scikit_learn_makes_of_them(gaps: bool) -> None:
    values = np.random.default_rng(2).normal(1e6, 3, 200)
    if gaps:
        values[::7] = np.nan
    expected = make_pipeline(SimpleImputer(strategy="median"), StandardScaler()).fit_transform(values[:, None])
    found = dense(TableEncoder.fit(numbers(values), numbers="standard").encode(numbers(values)).matrix)
    np.testing.assert_array_equal(found[:, :1], expected)
    assert found.shape[1] == 1 + gaps
    np.testing.assert_array_equal(found[:, 1:], np.isnan(values)[:, None][:, : int(gaps)])


@pytest.mark.parametrize("rows", [50, 5000])
def test_quantiles_are_what_scikit_learn_makes_of_them(rows: int) -> None:
    values = np.random.default_rng(3).lognormal(0, 3, rows)
    scikit = QuantileTransformer(
        n_quantiles=min(1000, rows), output_distribution="normal", subsample=rows, random_state=0
    ).fit(values[:, None])
    encoder = TableEncoder.fit(numbers(values), numbers="quantile")
    new = np.concatenate([values, np.random.default_rng(4).lognormal(0, 4, 500), [-1.0, 1e30]])
    found = dense(encoder.encode(numbers(new)).matrix)
    np.testing.assert_allclose(found, scikit.transform(new[:, None]), rtol=1e-9, atol=1e-9)
    assert np.abs(found).max() < 5.2


def test_heavy_tails_are_recognized() -> None:
    normal, heavy = np.random.default_rng(5).normal(size=1000), np.random.default_rng(5).lognormal(0, 3, 1000)
    table = Table.from_columns({"normal": normal, "heavy": heavy})
    auto, standard, quantile = (TableEncoder.fit(table, numbers=how) for how in ("auto", "standard", "quantile"))
    matrix = {
        name: encoder.encode(table).matrix for name, encoder in zip("asq", (auto, standard, quantile), strict=True)
    }
    np.testing.assert_array_equal(matrix["a"][:, 0], matrix["s"][:, 0])
    np.testing.assert_array_equal(matrix["a"][:, 1], matrix["q"][:, 1])
    assert np.abs(matrix["s"][:, 1]).max() > 8
    assert np.abs(matrix["q"]).max() < 5.2
    with pytest.raises(ValueError, match="numbers must be one of 'auto', 'standard', 'quantile', not 'rank'"):
        TableEncoder.fit(table, numbers="rank")  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_many_zeros_and_some_large_numbers_are_centered(scale: float) -> None:
    values = np.zeros(1000)
    values[::20] = np.random.default_rng(6).lognormal(0, 3, 50) * scale
    found = TableEncoder.fit(numbers(values)).encode(numbers(values)).matrix
    assert abs(found.mean()) < 0.2
    assert np.ptp(found[values == 0]) == 0
    assert len(np.unique(found[values > 0])) == 50  # at every scale


def test_dates_are_days() -> None:
    table = Table.from_columns({"day": ["2024-03-01", "2024-03-03", "2024-03-01 12:00", None]})
    encoder = TableEncoder.fit(table)
    assert encoder.feature_names_out == ("day", "day (missing)")
    days = np.array([0, 2, 0.5, 0.5])  # the median in place of the missing one
    np.testing.assert_allclose(encoder.encode(table).matrix[:, 0], (days - days.mean()) / days.std())


def test_missing_numbers_beside_a_single_value() -> None:
    encoder = TableEncoder.fit(numbers([5, None, 5]))
    assert encoder.encode(numbers([5, None, 1e30])).matrix.tolist() == [[0, 0], [0, 1], [0, 0]]


def test_categories_are_what_scikit_learn_makes_of_them() -> None:
    rng = np.random.default_rng(7)
    values = rng.choice([f"c{number}" for number in range(300)], 4000, p=(p := rng.dirichlet(np.ones(300))))
    assert p.min() < 1e-4  # some are rare
    table = Table.from_columns({"kind": values})
    scikit = OneHotEncoder(min_frequency=4, max_categories=101, handle_unknown="infrequent_if_exist")
    expected = scikit.fit_transform(values.astype(object)[:, None])
    encoder = TableEncoder.fit(table)
    assert encoder.num_features == 101
    assert isinstance(encoder.encode(table).matrix, sp.csr_array)
    np.testing.assert_array_equal(dense(encoder.encode(table).matrix), expected.toarray())
    new = np.array(["c0", "never"], dtype=object)
    np.testing.assert_array_equal(
        dense(encoder.encode(Table.from_columns({"kind": new})).matrix), scikit.transform(new[:, None]).toarray()
    )


def test_rare_categories_share_a_column_and_are_not_called_new() -> None:
    table = Table.from_columns({"city": ["Bonn"] * 3 + ["Rome"] * 2 + ["Lyon"]})
    encoder = TableEncoder.fit(table)
    assert encoder.feature_names_out == ("city=Bonn", "city=Rome", "city=(other)")
    encoded = encoder.encode(Table.from_columns({"city": ["Lyon", "Rome"]}))
    assert encoded.matrix.tolist() == [[0, 0, 1], [0, 1, 0]]
    assert encoded.notes == ()
    one_in_a_thousand = ["a"] * 2990 + ["b"] * 3 + ["c"] * 2 + ["d"] * 5
    assert TableEncoder.fit(Table.from_columns({"x": one_in_a_thousand})).feature_names_out == (
        "x=a",
        "x=b",
        "x=d",
        "x=(other)",
    )


def test_only_the_given_rows_teach() -> None:
    table = people()
    rows = np.arange(0, 40, 2)
    part = TableEncoder.fit(table, rows)
    assert part == TableEncoder.fit(table.take(rows))
    assert part == TableEncoder.fit(table, np.arange(40) % 2 == 0)
    assert part != TableEncoder.fit(table)
    with pytest.raises(ValueError, match="rows names node 40, which does not exist"):
        TableEncoder.fit(table, [40])
    with pytest.raises(ValueError, match=r"nodes\.csv: there are no training rows: pass at least one"):
        TableEncoder.fit(table, [])


def test_columns_that_teach_nothing_are_kept_out() -> None:
    columns = {
        "x": [1, 2, 3, 4],
        "empty": [None] * 4,
        "same": [7, 7, 7, 7],
        "word": ["a"] * 4,
        "names": ["a", "b", "c", "d"],
    }
    table = Table.from_columns(columns)
    encoder = TableEncoder.fit(table)
    assert encoder.feature_names_out == ("x",)
    assert encoder.groups == (0,)
    assert encoder.kinds == {"x": "number", "empty": "missing", "same": "constant", "word": "constant", "names": "rare"}
    assert encoder.notes == (
        "column 'empty' is not used: no training row has a value",
        "column 'same' is not used: all training rows have the same value",
        "column 'word' is not used: all training rows have the same value",
        "column 'names' is not used: no value occurs in enough training rows",
    )
    # In new tables they may hold anything, and may be left out.
    other = Table.from_columns(columns | {"empty": ["now"] * 4, "same": ["text"] * 4})
    np.testing.assert_array_equal(encoder.encode(other).matrix, encoder.encode(table).matrix)
    np.testing.assert_array_equal(encoder.encode(numbers(columns["x"])).matrix, encoder.encode(table).matrix)
    with pytest.raises(ValueError, match=r"x has no usable column \(column 'same' is not used: all .* same value\)"):
        TableEncoder.fit(Table.from_columns({"same": [1, 1]}))


def test_text_that_makes_no_categories_is_refused_by_name_all_at_once() -> None:
    rows = 2002
    columns = {
        "name": [f"name {row}" for row in range(rows)],
        "ok": ["a", "b"] * (rows // 2),
        "street": [f"street {row % 1200}" for row in range(rows)],
        "place": [f"place {row % 1000}" for row in range(rows)],
    }
    with pytest.raises(ValueError, match="cannot be categories") as caught:
        TableEncoder.fit(Table.from_columns(columns, where="nodes.csv"))
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("nodes.csv: column 'name' has no value twice, so its values cannot be categories: drop")
    assert lines[1].startswith("nodes.csv: column 'street' has 1,200 different values in 2,002 rows, so its")
    half = {"x": range(2002), "y": [f"v{row % 1001}" for row in range(2002)]}  # many values, but each of them twice
    assert TableEncoder.fit(Table.from_columns(half)).kinds["y"] == "rare"
    few = Table.from_columns({"x": range(20), "name": [f"n{row}" for row in range(20)]})
    assert TableEncoder.fit(few).kinds["name"] == "rare"
    with pytest.raises(ValueError, match="column 'name' has no value twice"):
        TableEncoder.fit(Table.from_columns({"name": [f"n{row}" for row in range(21)]}))


def test_new_tables_may_have_only_different_categories() -> None:
    cities = [f"c{number}" for number in range(30)]
    encoder = TableEncoder.fit(Table.from_columns({"city": cities * 3}))
    assert dense(encoder.encode(Table.from_columns({"city": cities})).matrix)[:, :-1].tolist() == (
        np.eye(30)[[cities.index(name) for name in sorted(cities)]].T.tolist()
    )


def test_the_order_of_columns_does_not_matter() -> None:
    table = people()
    encoder = TableEncoder.fit(table)
    turned = Table(dict(reversed(table.columns.items())), table.ids)
    np.testing.assert_array_equal(encoder.encode(turned).matrix, encoder.encode(table).matrix)


def test_a_renamed_category_changes_the_features_and_is_noted() -> None:
    table = people()
    encoder = TableEncoder.fit(table)
    renamed = table.columns["city"].copy()
    renamed[renamed == "Rome"] = "Roma"
    encoded = encoder.encode(Table(dict(table.columns) | {"city": renamed}))
    assert not np.array_equal(encoded.matrix, encoder.encode(table).matrix)
    rows = renamed == "Roma"
    column = encoder.feature_names_out.index("city=(other)")
    np.testing.assert_array_equal(encoded.matrix[:, column], rows)
    assert encoded.notes == (
        f"column 'city': {rows.sum()} of 40 rows have a value that does not occur in training ('Roma'): they are "
        "treated as (other)",
    )


def test_notes() -> None:
    encoder = TableEncoder.fit(Table.from_columns({"x": [1, 2, 3, 4], "city": ["a", "a", "b", "b"]}))
    encoded = encoder.encode(Table.from_columns({"x": [None, 2, 3, 2.5, 1], "city": ["c", "d", "e", "f", None]}))
    assert encoded.notes == (
        "column 'x': 1 of 5 rows has no value, although none was missing in training: it is treated as the median",
        "column 'city': 1 of 5 rows has no value, although none was missing in training: it is treated as (other)",
        "column 'city': 4 of 5 rows have a value that does not occur in training ('c', 'd', 'e', ...): they are "
        "treated as (other)",
    )
    assert encoded.matrix[0, 0] == encoded.matrix[3, 0]  # the median of training
    assert encoded.matrix[:, -1].tolist() == [1] * 5


def test_a_column_without_any_value_is_of_every_kind() -> None:
    table = people()
    encoder = TableEncoder.fit(table)
    empty = Table.from_columns({name: [None, None] for name in table.names})
    assert len(encoder.encode(empty).notes) == 2  # amount and member, of which training had all values


def test_what_does_not_fit_is_told_at_once() -> None:
    encoder = TableEncoder.fit(people())
    new = Table.from_columns(
        {"age": ["old", "young"], "since": [5, 6], "city": [None, "2020-01-01"], "town": ["a", "b"], "sex": ["f", "m"]},
        ids=["ann", "bob"],
        where="new.csv",
    )
    with pytest.raises(ValueError, match=r"new\.csv") as caught:
        encoder.encode(new)
    assert str(caught.value).splitlines() == [
        "new.csv lacks the columns 'amount', 'member', which training had: add or rename",
        "new.csv has the columns 'town', 'sex', which training did not have: drop or rename",
        "new.csv: column 'age' contained numbers in training and now contains categories, first 'old' at node 'ann': "
        "use the format of the training data",
        "new.csv: column 'since' contained dates in training and now contains numbers, first 5.0 at node 'ann': "
        "use the format of the training data",
        "new.csv: column 'city' contained categories in training and now contains dates, first "
        "'2020-01-01T00:00:00.000000000' at node 'bob': use the format of the training data",
    ]
    columns = dict(people().columns)
    del columns["age"]
    with pytest.raises(ValueError, match="x lacks the column 'age', which training had"):
        encoder.encode(Table(columns))


_CELLS = {
    "number": st.one_of(st.none(), st.floats(-1e30, 1e30), st.integers(-3, 3)),
    "date": st.one_of(st.none(), st.datetimes(dt.datetime(1678, 1, 1), dt.datetime(2261, 12, 31))),
    "city": st.one_of(st.none(), st.text(max_size=3).map(lambda text: f"c{text}"), st.sampled_from(["a", "b", "c"])),
    "flag": st.one_of(st.none(), st.booleans()),
}


@st.composite
def tables(draw: st.DrawFn, rows: int | None = None) -> Table:
    count = draw(st.integers(1, 20)) if rows is None else rows
    cells = {name: draw(st.lists(cell, min_size=count, max_size=count)) for name, cell in _CELLS.items()}
    return Table.from_columns(cells | {"row": np.arange(count) % 5 - draw(st.integers(0, 3))})


@settings(deadline=None, max_examples=60)
@given(tables(rows=12), tables(), st.sampled_from(["auto", "standard", "quantile"]), st.data())
def test_rows_are_independent_and_storing_loses_nothing(
    train: Table, new: Table, how: Any, data: st.DataObject
) -> None:
    encoder = TableEncoder.fit(train, numbers=how)
    whole = dense(encoder.encode(new).matrix)
    assert np.isfinite(whole).all()
    rows = data.draw(st.lists(st.integers(0, new.num_rows - 1), min_size=1, max_size=8))
    np.testing.assert_array_equal(dense(encoder.encode(new.take(rows)).matrix), whole[rows])
    stored = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict(), allow_nan=False)))
    assert stored == encoder
    again = stored.encode(new)
    assert dense(again.matrix).tobytes() == whole.tobytes()
    assert again.notes == encoder.encode(new).notes
    assert pickle.loads(pickle.dumps(encoder)) == encoder


@settings(deadline=None, max_examples=40)
@given(tables(rows=12), st.sampled_from(["auto", "standard", "quantile"]))
def test_training_rows_are_scaled_to_the_size_of_one(train: Table, how: Any) -> None:
    encoder = TableEncoder.fit(train, numbers=how)
    matrix = dense(encoder.encode(train).matrix)
    assert np.abs(matrix).max() <= 12  # of 12 rows none is farther out than the square root of 11
    assert encoder.encode(train).notes == ()
    for place, name in enumerate(encoder.feature_names_in):
        if encoder.kinds[name] == "category":
            assert (matrix[:, np.array(encoder.groups) == place].sum(axis=1) == 1).all()


def test_encoding_needs_no_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = TableEncoder.fit(people())
    for module in ("sklearn.preprocessing", "sklearn.impute"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError):
        TableEncoder.fit(people())
    assert TableEncoder.from_dict(encoder.to_dict()).encode(people()).matrix.shape == (40, 13)


def changed(column: int, **entries: Any) -> dict[str, Any]:
    """A stored encoder with entries of one column changed; ``...`` takes one out."""
    stored = json.loads(json.dumps(TableEncoder.fit(people(), numbers="quantile").to_dict()))
    stored["columns"][column] = {
        name: value for name, value in (stored["columns"][column] | entries).items() if value is not ...
    }
    return stored


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (None, "a stored table encoder needs the entries 'id_name' and 'columns': the file is damaged"),
        ({"columns": []}, "needs the entries 'id_name' and 'columns'"),
        ({"id_name": 1, "columns": []}, "'id_name' of a stored table encoder must be text, 'columns' a list"),
        ({"id_name": "id", "columns": {}}, "'id_name' of a stored table encoder must be text, 'columns' a list"),
        ({"id_name": "id", "columns": []}, "needs features and columns of distinct names"),
        ({"id_name": "id", "columns": [3]}, "a stored column has the kind None, not one of number, date, category"),
        (
            changed(0, kind="color"),
            "a stored column has the kind 'color', not one of number, date, category, missing",
        ),
        (changed(0, kind=[]), "a stored column has the kind [], not one of number"),
        (changed(0, median=...), "a stored column of kind 'number' has the entries ['deviation', 'kind', 'mean', 'mis"),
        (changed(0, more=1), "has the entries ['deviation', 'kind', 'mean', 'median', 'missing', 'more'"),
        (changed(0, name=3), "'name' of a stored column of kind 'number' is 3: the file is damaged"),
        (changed(0, name="city"), "columns of distinct names"),
        (changed(0, median="1"), "'median' of a stored column of kind 'number' is '1'"),
        (changed(0, mean=float("nan")), "'mean' of a stored column of kind 'number' is nan"),
        (changed(0, mean=True), "'mean' of a stored column of kind 'number' is True"),
        (changed(0, missing=1), "'missing' of a stored column of kind 'number' is 1"),
        (changed(0, deviation=-1.0), "'deviation' of a stored column of kind 'number' is -1.0"),
        (changed(0, quantiles=[1.0]), "'quantiles' of a stored column of kind 'number' is [1.0]"),
        (changed(0, quantiles=[2.0, 1.0]), "'quantiles' of a stored column of kind 'number' is [2.0, 1.0]"),
        (changed(0, quantiles="12"), "'quantiles' of a stored column of kind 'number' is '12'"),
        (changed(3, categories=["a", "a"]), "'categories' of a stored column of kind 'category' is ['a', 'a']"),
        (changed(3, rare=[1]), "'rare' of a stored column of kind 'category' is [1]"),
    ],
)
def test_damaged_encoders_are_refused(stored: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        TableEncoder.from_dict(stored)
