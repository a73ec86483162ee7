"""Values as JSON holds them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unifilter._internal.plain import plain
from unifilter.bases import Jacobi

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)


@given(values)
def test_what_json_holds_stays_as_it_is(value: Any) -> None:
    assert plain(value) == value
    assert json.loads(json.dumps(plain(value))) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        ((1, (2, np.int32(3))), [1, [2, 3]]),
        ({1: np.float64(2)}, {"1": 2.0}),
        ([Jacobi(1.0, 0.5)], [{"name": "jacobi", "parameters": {"a": 1.0, "b": 0.5, "published_sign": False}}]),
    ],
    ids=str,
)
def test_numbers_of_numpy_tuples_and_bases_are_written_out(value: Any, expected: Any) -> None:
    found = plain(value)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, Jacobi, [1, {"a": 1j}], np.ones(2)],
    ids=["object", "set", "class", "complex number", "array"],
)
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"cannot be stored: use numbers, strings, booleans, lists or None"):
        plain(value)
