from __future__ import annotations

import re

import pytest

from unifilter.data.node_ids import number_ids, read_ids


def test_ids_are_text_and_numbered_by_row() -> None:
    ids = read_ids(["1", 2, "01"], "id", "nodes.csv")
    assert ids == ["1", "2", "01"]
    assert number_ids(ids, "nodes.csv") == {"1": 0, "2": 1, "01": 2}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", None], "nodes.csv: row 2 has no id: fill it in or drop the row"),
        ([None, None], "nodes.csv: row 1 has no id: fill it in or drop the row (2 such rows in all)"),
        ([1.5], "nodes.csv: id 1.5 in row 1 is a decimal number: ids must be text or integers"),
        ([None, 2.0], "row 1 has no id: fill it in or drop the row\nnodes.csv: id 2.0 in row 2 is a decimal number"),
    ],
)
def test_bad_ids_are_refused_at_once(values: list[object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        read_ids(values, "id", "nodes.csv")


def test_ids_must_differ() -> None:
    with pytest.raises(ValueError, match=r"^nodes.csv: id 'a' is in rows 1 and 3: ids must be unique$"):
        number_ids(["a", "b", "a"], "nodes.csv")
    with pytest.raises(ValueError, match=r"id 'a' is in rows 1 and 2: ids must be unique \(2 such ids in all\)"):
        number_ids(["a", "a", "b", "a"], "nodes.csv")
