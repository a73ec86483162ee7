from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unifilter.data.column_values import as_categories, recognize, shown

DAY = dt.date(2024, 3, 1)
CET = dt.timezone(dt.timedelta(hours=1))


def read(*values: Any) -> np.ndarray:
    return recognize(list(values), lambda row: f"node {row}")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12),
        (" 12 ", 12),
        ("-3.5e2", -350),
        ("+.5", 0.5),
        ("7.", 7),
        ("1,200", 1200),
        ("1,200.50", 1200.5),
        ("-12,345,678", -12345678),
        ("1.200", 1.2),
        ("007", 7),
    ],
)
def test_text_that_is_a_number(text: str, number: float) -> None:
    column = read(text, None, "")
    assert column.dtype == np.float64
    assert column[0] == number
    assert np.isnan(column[1:]).all()


@pytest.mark.parametrize("text", ["12,34,567.8", "1 200", "12%", "0x1F", "nan", "1_000", "٣", "1e", "--1"])
def test_text_that_is_no_number(text: str) -> None:
    assert read(text, text).tolist() == [text, text]


@given(st.floats(allow_nan=False, width=32, allow_infinity=False))
def test_numbers_as_python_writes_them_are_read_without_loss(number: float) -> None:
    assert read(repr(number)).tolist() == [number]
    assert read(f"{number:,.3f}").tolist() == [float(f"{number:.3f}")]


@pytest.mark.parametrize(
    "values",
    [
        [1, 2.5, None],
        [np.int8(1), np.float32(2.5), np.nan],
        [Decimal(1), Decimal("2.5"), Decimal("NaN")],
        [Fraction(1), Fraction(5, 2), None],
        ["1", 2.5, ""],  # numbers and numbers as text are numbers
    ],
)
def test_number_objects(values: list[Any]) -> None:
    np.testing.assert_array_equal(read(*values), [1, 2.5, np.nan])


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float16, np.float32])
def test_number_arrays_become_float64(dtype: Any) -> None:
    column = recognize(np.array([1, 2], dtype=dtype), str)
    assert column.dtype == np.float64
    assert column.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2024-03-01", "2024-03-01T00:00"),
        ("2024-03-01 12:30", "2024-03-01T12:30"),
        ("2024-03-01T12:30:15", "2024-03-01T12:30:15"),
        ("2024-03-01T12:30:15.25", "2024-03-01T12:30:15.250"),
        ("2024-03-01T12:30:15.123456789", "2024-03-01T12:30:15.123456789"),
        ("2024-03-01T12:30Z", "2024-03-01T12:30"),
        ("2024-03-01T00:30+01:00", "2024-02-29T23:30"),
        ("2024-03-01T00:30-0130", "2024-03-01T02:00"),
        (DAY, "2024-03-01"),
        (dt.datetime(2024, 3, 1, 12), "2024-03-01T12:00"),
        (dt.datetime(2024, 3, 1, 12, tzinfo=CET), "2024-03-01T11:00"),
        (np.datetime64("2024-03-01"), "2024-03-01"),
        ("1678-01-01", "1678-01-01"),
        ("2261-12-31T23:59:59.999999999", "2261-12-31T23:59:59.999999999"),
    ],
)
def test_dates(value: Any, moment: str) -> None:
    column = read(value, None, np.datetime64("NaT"))
    assert column.dtype == np.dtype("datetime64[ns]")
    assert column[0] == np.datetime64(moment, "ns")
    assert np.isnat(column[1:]).all()


def test_true_and_false_are_categories() -> None:
    assert read(True, np.bool_(False), None).tolist() == [True, False, None]
    assert read("true", "FALSE", " True", "").tolist() == [True, False, True, None]
    assert recognize(np.array([True, False]), str).tolist() == [True, False]
    assert read("true", "perhaps").tolist() == ["true", "perhaps"]  # text like any other


def test_text_is_kept_as_it_stands() -> None:
    assert read(" Bonn", "köln", None, "  ", "2024-3-1").tolist() == [" Bonn", "köln", None, None, "2024-3-1"]
    assert [type(value) for value in recognize(np.array(["a", "b"]), str)] == [str, str]


def test_nothing_but_missing_values() -> None:
    assert np.isnan(read(None, "", np.nan)).all()
    assert read().shape == (0,)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            ["31", "old", "28"],
            "contains numbers and text, first 'old' at node 1 (1 of 3 rows): correct it, leave it empty",
        ),
        (["a", 7.0, "b"], "contains text and numbers, first 7.0 at node 1 (1 of 3 rows): correct it"),
        (["2024-03-01", "2024-03-02", "soon"], "contains dates and text, first 'soon' at node 2"),
        (["2024-03-01", "2024-03-02", 5], "contains dates and numbers, first 5 at node 2"),
        ([1, 2, True], "contains numbers and true/false, first True at node 2"),
        (
            ["1.200,50"],
            "contains '1.200,50' at node 0, which has a decimal comma: write a decimal point and no separators",
        ),
        (["1.5", "1,5", "2,5"], "contains '1,5' at node 1, which has a decimal comma: write a decimal point and no"),
        (["2,5", "3,5"], "(2 such rows in all)"),
        (["2024-02-30"], "contains '2024-02-30' at node 0, which is not a date in the years 1678 to 2261"),
        (
            ["2024-03-01", "9999-12-31"],
            "contains '9999-12-31' at node 1, which is not a date in the years 1678 to 2261",
        ),
        (["2024-03-01 25:00"], "which is not a date"),
        ([None, [1, 2]], "contains [1, 2] at node 1, which is a list: a column contains numbers, dates"),
        ([dt.timedelta(1)], "which is a timedelta: a column contains numbers"),
        ([1j], "which is a complex: a column contains numbers"),
        ([1.0, np.inf, -np.inf], "contains inf at node 1, which is not a finite float32: correct it, leave it empty"),
        (["1e300"], "contains 1e+300 at node 0, which is not a finite float32"),
        ([10**400], "contains inf at node 0, which is not a finite float32"),
    ],
)
def test_what_cannot_be_recognized_is_refused(values: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        read(*values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([1j]), "contains complex128: convert it to numbers, dates or text, or drop the column"),
        (np.array([1], dtype="m8[s]"), "contains timedelta64[s]: convert it"),
        (np.array(["9999-12-31"], dtype="M8[D]"), "contains 9999-12-31 at 0, which is not a date in the years 1678"),
    ],
)
def test_arrays_of_other_types_are_refused(values: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        recognize(values, str)


def test_categories_by_decree() -> None:
    assert as_categories([1, "01", True, None, 2.5]).tolist() == ["1", "01", True, None, "2.5"]


def test_long_values_are_cut() -> None:
    assert shown("ab") == "'ab'"
    assert shown("a" * 100) == "'" + "a" * 56 + "..."
