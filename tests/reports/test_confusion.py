from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unifilter.reports.confusion import confusion_table


def test_small_ones_are_shown_whole() -> None:
    table = confusion_table({"names": ["a", "b"], "counts": [[3, 1], [0, 0]]})
    assert table.names == ["a", "b"]
    assert table.others == 0
    assert [[cell.count for cell in row] for row in table.rows] == [[3, 1], [0, 0]]
    assert [[cell.share for cell in row] for row in table.rows] == [[0.75, 0.25], [0.0, 0.0]]
    assert [[cell.kind for cell in row] for row in table.rows] == [["right", "wrong"], ["wrong", "right"]]


def test_thirteen_classes_still_fit() -> None:
    table = confusion_table({"names": list("abcdefghijklm"), "counts": np.eye(13, dtype=int).tolist()})
    assert table.names == list("abcdefghijklm")


def test_large_ones_keep_the_most_frequent_classes_in_their_order() -> None:
    sizes = [1] * 8 + [50] * 12
    names = [f"class {index}" for index in range(20)]
    table = confusion_table({"names": names, "counts": np.diag(sizes).tolist()})
    assert table.names == [*names[8:], "8 others"]
    assert table.others == 8
    assert table.rows[-1][-1].count == 8
    assert table.rows[-1][-1].kind == "mixed"


@given(st.integers(2, 30).flatmap(lambda n: arrays(np.int64, (n, n), elements=st.integers(0, 1000))))
def test_no_node_is_lost(counts: np.ndarray) -> None:
    table = confusion_table({"names": [str(index) for index in range(len(counts))], "counts": counts.tolist()})
    assert sum(cell.count for row in table.rows for cell in row) == counts.sum()
    assert len(table.names) == len(table.rows) <= 13
    for row in table.rows:
        assert sum(cell.share for cell in row) == 0 or abs(sum(cell.share for cell in row) - 1) < 1e-9
