from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from reports.samples import good, regression, score

from unifilter.reports import charts
from unifilter.reports.wording import scale_of


def drawn(svg: str, kind: str) -> list[dict[str, str]]:
    """Attributes of the elements of a class; parsing fails where the picture is not well-formed."""
    return [one.attrib for one in ElementTree.fromstring(svg).iter() if kind in one.attrib.get("class", "").split()]


def words(svg: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(svg).iter("text")]


def test_scores_show_every_split_and_the_mean() -> None:
    svg = charts.scores_chart(good()["scores"], scale_of("accuracy"))
    assert len(drawn(svg, "split")) == 30
    assert len(drawn(svg, "mean")) == 3
    assert {"unifilter", "85.5 % ± 0.8", "MLP without the graph"} <= set(words(svg))


def test_better_is_right_for_scores_and_left_for_errors() -> None:
    for report, metric, sign in ((good(), "accuracy", 1), (regression(), "neg_rmse", -1)):
        model, _, constant = drawn(charts.scores_chart(report["scores"], scale_of(metric)), "mean")
        assert sign * float(model["cx"]) > sign * float(constant["cx"])


def test_one_split_has_no_spread() -> None:
    svg = charts.scores_chart([score("m", "model", [0.95]), score("c", "majority", [0.953])], scale_of("accuracy"))
    assert not any("±" in one for one in words(svg))
    assert drawn(svg, "split") == []
    left, right = (float(one["cx"]) for one in drawn(svg, "mean"))
    assert right - left < 12  # 0.3 points of an axis of at least 10


def test_scores_that_are_not_defined_have_no_dot() -> None:
    undefined = {"name": "m", "role": "model", "mean": None, "std": None, "values": [None, None]}
    svg = charts.scores_chart([undefined], scale_of("roc_auc"))
    assert drawn(svg, "mean") == drawn(svg, "split") == []
    assert "–" in words(svg)


def test_shares_end_at_one_hundred_percent() -> None:
    svg = charts.scores_chart([score("m", "model", [1.0, 0.99])], scale_of("accuracy"))
    assert max(float(one) for one in words(svg) if re.fullmatch(r"[\d.]+", one)) == 100


def test_reliability_has_a_dot_and_a_bar_for_each_bin() -> None:
    bins = good()["calibration"]["bins"]
    svg = charts.reliability_chart(bins)
    dots, bars = drawn(svg, "dot"), drawn(svg, "count")
    assert len(dots) == len(bars) == len(bins)
    heights = [float(one["height"]) for one in bars]
    assert heights == pytest.approx([46 * one["count"] / 1690 for one in bins], abs=0.01)
    areas = [float(one["r"]) ** 2 for one in dots]
    assert areas.index(max(areas)) == 6


def test_overconfident_bins_are_below_the_line() -> None:
    svg = charts.reliability_chart([{"confidence": 0.9, "accuracy": 0.6, "count": 10}])
    (gap,) = drawn(svg, "gap")
    assert float(gap["y1"]) > float(gap["y2"])


def spectrum(**changes: Any) -> dict[str, Any]:
    return {**good()["spectrum"], **changes}


def test_weights_are_ordered_by_frequency_and_size() -> None:
    svg = charts.weights_chart(spectrum(frequency=[0.5, 0.1], weight=[1.0, -1.0], weight_spread=[0.1, 0.2]))
    first, second = drawn(svg, "mean")
    assert float(first["cx"]) > float(second["cx"])
    assert float(first["cy"]) < float(second["cy"])
    lengths = [float(one["y2"]) - float(one["y1"]) for one in drawn(svg, "bar")]
    assert lengths[1] == pytest.approx(2 * lengths[0], rel=0.01)


def test_weights_without_a_spread() -> None:
    assert len(drawn(charts.weights_chart(spectrum(weight_spread=None)), "mean")) == 11


def test_the_response_is_scaled_to_where_there_is_energy() -> None:
    """A response that explodes outside of the span must not flatten what is inside."""
    lam = [0.0, 0.5, 1.0, 1.5, 2.0]
    curve = [1.0, 1.0, 0.5, 0.2, 1000.0]
    same = {"lam": lam, "response": curve, "response_low": curve, "response_high": curve}
    svg = charts.response_chart(spectrum(**same, span=[0.4, 1.6]))
    assert "1.00" in words(svg)
    assert not any("1,000" in one for one in words(svg))
    left, right = drawn(svg, "shade")
    assert float(left["x"]) < float(right["x"])


def test_nothing_is_shaded_where_there_is_energy_everywhere() -> None:
    assert drawn(charts.response_chart(spectrum(span=[0.0, 2.0])), "shade") == []


def test_predictions() -> None:
    points = [[0.0, 0.0], [10.0, 10.0], [5.0, 7.0]]
    dots = drawn(charts.predictions_chart(points), "point")
    assert len(dots) == 3
    assert float(dots[2]["cy"]) < (float(dots[0]["cy"]) + float(dots[1]["cy"])) / 2


def test_equal_predictions_can_be_drawn() -> None:
    assert len(drawn(charts.predictions_chart([[3.0, 3.0]]), "point")) == 1


@pytest.mark.parametrize(
    ("value", "signed", "start", "width"),
    [(0.5, False, "0", "50"), (0.5, True, "50", "25"), (-1.0, True, "0", "50"), (0.0, False, "0", "0")],
)
def test_bars(value: float, signed: bool, start: str, width: str) -> None:
    (found,) = drawn(charts.bar(value, 1.0, signed), "negative" if value < 0 else "positive")
    assert (found["x"], found["width"]) == (start, width)


def test_a_bar_among_zeros() -> None:
    (found,) = drawn(charts.bar(0.0, 0.0, signed=False), "positive")
    assert found["width"] == "0"
