from __future__ import annotations

import datetime as dt
import hashlib
import pickle
import re
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unifilter.data import Table, is_frame


def digest(table: Table) -> str:
    found = hashlib.sha256()
    table.update_digest(found)
    return found.hexdigest()


def example() -> Table:
    return Table.from_columns(
        {"age": [31, None, 28], "since": ["2020-01-01", None, "2021-06-30"], "city": ["Bonn", None, "Rome"]},
        ids=["ann", "bob", "cy"],
        where="nodes.csv",
    )


def test_rows_and_names() -> None:
    table = example()
    assert (table.num_rows, table.names) == (3, ("age", "since", "city"))
    assert table.row_name(1) == "node 'bob'"
    assert repr(table) == "Table(rows=3, columns=['age', 'since', 'city'])"
    unnamed = Table.from_columns({"x": [1, 2]})
    assert (unnamed.num_rows, unnamed.row_name(1), unnamed.ids) == (2, "node 1", None)
    assert [values.dtype.kind for values in table.columns.values()] == ["f", "M", "O"]


@pytest.mark.parametrize("rows", [[2, 0], np.array([True, False, True])])
def test_take(rows: Any) -> None:
    part = example().take(rows)
    assert sorted(part.ids.tolist()) == ["ann", "cy"]  # type: ignore[union-attr]
    assert part.columns["age"].tolist() == [{"ann": 31.0, "cy": 28.0}[name] for name in part.ids]  # type: ignore[union-attr]
    assert part.where == "nodes.csv"
    assert Table.from_columns({"x": [1, 2]}).take([1]).ids is None


def test_a_part_keeps_the_kinds_of_the_whole() -> None:
    part = example().take([1])
    assert [values.dtype.kind for values in part.columns.values()] == ["f", "M", "O"]


def test_it_pickles() -> None:
    table = example()
    again = pickle.loads(pickle.dumps(table))
    assert digest(again) == digest(table)
    assert (again.where, again.id_name) == (table.where, table.id_name)


def test_the_digest_sees_content_and_names_but_no_order_of_columns() -> None:
    table = example()
    shuffled = Table(dict(reversed(table.columns.items())), table.ids, "elsewhere")
    assert digest(shuffled) == digest(table)
    columns = dict(table.columns)
    renamed = Table({("town" if name == "city" else name): values for name, values in columns.items()}, table.ids)
    swapped = Table(columns | {"city": columns["city"][::-1]}, table.ids)
    others = [
        renamed,
        swapped,
        Table(columns | {"age": columns["age"] + 1}, table.ids),
        Table(columns | {"since": columns["since"] + np.timedelta64(1, "ns")}, table.ids),
        Table(columns, None),
        Table(columns, np.array(["ann", "bob", "di"])),
        table.take([0, 1]),
    ]
    assert len({digest(table), *map(digest, others)}) == 1 + len(others)
    # True is not the word, and one NaN and one zero are like another.
    assert digest(Table.from_columns({"x": [True]})) != digest(Table.from_columns({"x": ["True"]}, categorical=["x"]))
    nan = -np.array([np.nan, 0.0])
    assert digest(Table({"x": nan})) == digest(Table({"x": -nan}))


@pytest.mark.parametrize(
    ("columns", "ids", "message"),
    [
        ({}, ["a"], "x has no feature column: add one that describes the nodes, such as their number of neighbors"),
        ({"u": np.zeros(2), "v": np.zeros(3)}, None, "x: column 'v' has 3 rows, not 2: pass one value per row"),
        ({"u": np.zeros(2)}, ["a"], "x: column 'u' has 2 rows, not 1"),
        ({"u": np.zeros(1, dtype=np.float32)}, None, "x: column 'u' contains float32, not finite float64"),
        ({"u": np.array([np.inf])}, None, "x: column 'u' contains float64, not finite float64"),
        (
            {"u": np.array([1], dtype=object)},
            None,
            "or objects that are str, bool or None: build the table with Table.f",
        ),
    ],
)
def test_bad_tables_are_refused(columns: Any, ids: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Table(columns, ids)


def test_all_problems_are_raised_at_once() -> None:
    columns = {"age": [31, "old", 28], "city": ["Bonn", "Rome", 7], "fine": [1, 2, 3], "day": ["2024-02-30"] * 3}
    with pytest.raises(ValueError, match="nodes.csv") as caught:
        Table.from_columns(columns, ids=["ann", "bob", "cy"], where="nodes.csv")
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith(
        "nodes.csv: column 'age' contains numbers and text, first 'old' at node 'bob' (1 of 3 rows)"
    )
    assert lines[1].startswith("nodes.csv: column 'city' contains text and numbers, first 7 at node 'cy'")
    assert lines[2].startswith("nodes.csv: column 'day' contains '2024-02-30' at node 'ann', which is not a date")
    with pytest.raises(ValueError, match="and 5 more$"):
        Table.from_columns({f"c{number}": ["1", "a"] for number in range(25)})


def test_frames_of_every_type() -> None:
    times = pd.to_datetime(["2024-03-01 12:00+02:00", None])
    frame = pd.DataFrame(
        {
            "whole": [1, 2],
            "single": np.array([0.5, np.nan], dtype=np.float32),
            "nullable": pd.array([1, None], dtype="Int64"),
            "arrow": pd.Series([1, None], dtype="int64[pyarrow]"),
            "decimal": [Decimal("1.5"), None],
            "sparse": pd.arrays.SparseArray([0.0, 1.0]),
            "text": ["1,200", None],
            "zone": times,
            "naive": times.tz_convert(None),
            "arrow day": pd.Series([dt.date(2024, 3, 1), None], dtype="date32[pyarrow]"),
            "arrow zone": pd.Series(times).astype("timestamp[ns, UTC][pyarrow]"),
            "days": [dt.date(2024, 3, 1), None],
            "iso": ["2024-03-01", ""],
            "string": pd.array(["a", None], dtype="string"),
            "category": pd.Categorical([5, None]),
            "bool": [True, False],
            "boolean": pd.array([True, None], dtype="boolean"),
        }
    )
    table = Table.from_frame(frame)
    kinds = {name: values.dtype.kind for name, values in table.columns.items()}
    assert "".join(kinds.values()) == "fffffff" + "MMMMMM" + "OOOO"
    assert table.columns["decimal"][0] == 1.5
    assert table.columns["text"][0] == 1200
    assert {str(table.columns[name][0])[:16] for name in ("zone", "naive", "arrow zone")} == {"2024-03-01T10:00"}
    assert np.isnat(table.columns["zone"][1])
    assert [table.columns[name].tolist() for name in ("string", "category", "bool", "boolean")] == [
        ["a", None],
        ["5", None],
        [True, False],
        [True, None],
    ]
    assert table.ids is None


def test_ids_of_frames() -> None:
    frame = pd.DataFrame({"id": [7, 3], "x": [1, 2]})
    table = Table.from_frame(frame)
    assert (table.ids.tolist(), table.names) == (["7", "3"], ("x",))  # type: ignore[union-attr]
    indexed = Table.from_frame(frame.set_index("id").rename_axis("account"))
    assert (indexed.ids.tolist(), indexed.id_name) == (["7", "3"], "account")  # type: ignore[union-attr]
    named = Table.from_frame(frame.rename(columns={"id": "account"}), id_name="account")
    assert (named.ids.tolist(), named.id_name) == (["7", "3"], "account")  # type: ignore[union-attr]
    assert Table.from_frame(frame[["x"]]).ids is None
    assert Table.from_frame(pd.concat([frame[["x"]]] * 2)).ids is None  # an index that repeats itself names no row
    assert Table.from_frame(frame.iloc[[1]]).ids.tolist() == ["3"]  # type: ignore[union-attr]


def test_column_names_become_text() -> None:
    assert Table.from_frame(pd.DataFrame(np.zeros((2, 2)))).names == ("0", "1")


def test_bad_frames_are_refused_at_once() -> None:
    frame = pd.DataFrame([["a", 1, 1j, [1]], ["a", "x", 2, [2]]], columns=["id", "mixed", "complex", "nested"])
    frame["complex"] = frame["complex"].astype(complex)
    frame = pd.concat([frame, frame[["nested"]]], axis=1)
    with pytest.raises(ValueError, match="mine") as caught:
        Table.from_frame(frame, "mine")
    lines = str(caught.value).splitlines()
    assert lines[0] == "mine has several columns named 'nested': rename them"
    assert lines[1] == "mine: id 'a' is in rows 1 and 2: ids must be unique"
    assert lines[2].startswith("mine: column 'mixed' contains numbers and text, first 'x' at node 'a'")
    assert lines[3].startswith("mine: column 'complex' contains complex128")
    assert lines[4].startswith("mine: column 'nested' contains [1] at node 'a', which is a list")
    with pytest.raises(ValueError, match="x has several columns named '1': rename them"):
        Table.from_frame(pd.DataFrame([[1, 2]], columns=[1, "1"]))
    with pytest.raises(ValueError, match="x has no feature column"):
        Table.from_frame(pd.DataFrame({"id": ["a"]}))


def test_what_is_a_frame() -> None:
    assert is_frame(pd.DataFrame())
    assert not any(map(is_frame, (np.zeros((2, 2)), pd.Series([1]), [[1]], None)))


@given(st.lists(st.one_of(st.none(), st.floats(width=32), st.integers(-(10**9), 10**9)), min_size=1))
def test_a_csv_of_numbers_holds_what_the_frame_holds(values: list[float | None]) -> None:
    finite = [None if value is None or not np.isfinite(value) else float(value) for value in values]
    as_numbers = Table.from_columns({"x": finite})
    as_text = Table.from_columns({"x": ["" if value is None else repr(value) for value in finite]})
    assert digest(as_numbers) == digest(as_text)
