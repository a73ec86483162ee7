from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unifilter.reports.wording import number, scale_of, setting, shortened


@pytest.mark.parametrize(
    ("metric", "mean", "text"),
    [
        ("accuracy", 0.8123, "81.2 % ± 1.2"),
        ("macro_f1", 0.5, "50.0 % ± 1.2"),
        ("roc_auc", 0.9, "90.0 % ± 1.2"),
        ("r2", 0.8123, "0.812 ± 0.012"),
        ("log_loss", 0.41, "0.41 ± 0.012"),
        ("neg_rmse", -3.25, "3.25 ± 0.012"),
        ("neg_mae", -12_345.6, "12,346 ± 0.012"),
    ],
)
def test_each_metric_has_its_units(metric: str, mean: float, text: str) -> None:
    assert scale_of(metric).mean(mean, 0.012) == text


@pytest.mark.parametrize(
    ("metric", "difference", "text"),
    [
        ("accuracy", 0.02, "2.0 points above"),
        ("accuracy", -0.02, "2.0 points below"),
        ("accuracy", 0.0004, "level with"),
        ("accuracy", -0.0004, "level with"),
        ("r2", -0.1, "0.1 below"),
        ("r2", 0.0, "level with"),
        ("neg_rmse", 0.1, "0.1 lower than"),
        ("neg_rmse", -0.1, "0.1 higher than"),
    ],
)
def test_differences(metric: str, difference: float, text: str) -> None:
    assert scale_of(metric).difference(difference) == text


def test_undefined_scores_are_dashes() -> None:
    assert scale_of("accuracy").mean(None, None) == "–"
    assert scale_of("r2").mean(0.5, None) == "0.5"


@given(st.floats(-1e300, 1e300))
def test_numbers_keep_three_digits(value: float) -> None:
    assert math.isclose(float(number(value).replace(",", "")), value, rel_tol=0.0051)


@given(st.text(), st.integers(8, 40))
def test_names_fit_on_a_line(name: str, length: int) -> None:
    short = shortened(name, length)
    assert 0 < len(short) <= length
    assert "\n" not in short


def test_names_cannot_turn_the_text_around_them() -> None:
    assert shortened("a\u202eb\x00c\u2067\td", 20) == "abc d"
    assert shortened("\u05d0\u05d1", 20) == "\u05d0\u05d1"  # Hebrew itself is fine


def test_settings_are_written_as_json() -> None:
    assert [setting(value) for value in (None, True, 0.5, "row", [1, 2])] == ["null", "true", "0.5", "row", "[1, 2]"]
