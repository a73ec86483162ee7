from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unifilter.reports.svg import element, framed, picture, ticks, widened


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(3, 6))
def test_ticks_are_few_inside_and_evenly_spaced(low: float, length: float, steps: int) -> None:
    found = list(ticks(low, low + length, steps))
    assert 1 <= len(found) <= steps + 1
    assert low - 1e-9 <= found[0]
    assert found[-1] <= low + length + 1e-9
    gaps = [b - a for a, b in pairwise(found)]
    assert all(gap == pytest.approx(gaps[0], rel=1e-6) for gap in gaps)


@given(st.floats(-1000, 1000), st.floats(0.01, 1000))
def test_ticks_are_written_differently(low: float, length: float) -> None:
    labels = list(ticks(low, low + length, 5).values())
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.0, 1.2, ["0.00", "0.25", "0.50", "0.75", "1.00"]),
        (0.08, 0.51, ["0.1", "0.2", "0.3", "0.4", "0.5"]),
        (0.0, 2e7, ["0", "5,000,000", "1e+07", "1.5e+07", "2e+07"]),
    ],
)
def test_decimals(low: float, high: float, labels: list[str]) -> None:
    assert list(ticks(low, high, 5).values()) == labels


@given(st.lists(st.floats(-1e9, 1e9), max_size=5))
def test_every_range_can_be_drawn(values: list[float]) -> None:
    low, high = widened(values)
    assert low < high
    assert all(low <= value <= high for value in values)


def test_the_corners_of_the_data_are_the_corners_of_the_frame() -> None:
    frame = framed((0, 2), (10, 20), 250)
    assert (frame.x(0), frame.x(2), frame.y(10), frame.y(20)) == (frame.left, frame.right, frame.bottom, frame.top)


def test_text_and_attributes_are_escaped() -> None:
    assert element("text", "<b>", title='"x"') == '<text title="&#34;x&#34;">&lt;b&gt;</text>'
    assert "<title>a &amp; b</title>" in picture("a & b", 10)
    assert element("rect", x=1.0, width=None) == '<rect x="1"></rect>'
