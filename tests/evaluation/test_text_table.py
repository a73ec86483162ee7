from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from unifilter.evaluation.text_table import text_table

WORD = st.text("abcdef", min_size=1, max_size=12)


@given(st.lists(st.tuples(WORD, st.one_of(st.none(), st.integers(), st.floats(-1e6, 1e6)), WORD), min_size=1))
def test_columns_are_aligned(rows: list[tuple[str, int | float | None, str]]) -> None:
    lines = text_table(rows).split("\n")
    assert len(lines) == len(rows)
    assert len({len(line) for line in lines}) == 1
    for line, (first, second, third) in zip(lines, rows, strict=True):
        expected = "-" if second is None else f"{second:.4f}" if isinstance(second, float) else str(second)
        assert line.split() == [first, expected, third]
        assert line.startswith(first)
        assert line.endswith(third)
