from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unifilter.explanation.label_report import LabelReport
from unifilter.explanation.verdict import verdict
from unifilter.factorization.energy import EnergyShare

NOTHING = np.zeros(1)
FREQUENCY = np.array([0.5, 0.4, 0.2, 0.1])


def labels(frequency: float = 0.5, edge: float | None = 0.2, adjusted: float | None = 0.0) -> LabelReport:
    energy = EnergyShare(NOTHING, NOTHING, NOTHING, NOTHING)
    return LabelReport(edge, 0.0, 0.0, adjusted, (), energy, frequency)


def said(
    report: LabelReport | None = None, weights: Any = None, spread: float | tuple[float, ...] = 0.0, **counts: int
) -> str:
    channels = {"broken_down": 0, "zero_columns": 0, "channels": 1000} | counts
    given = None if weights is None else np.array(weights)
    return " ".join(verdict(report, FREQUENCY, given, np.full(4, spread), **channels))


@pytest.mark.parametrize(
    ("frequency", "words"),
    [
        (0.1, "Labels sit at low frequencies (frequency 0.10, where 0.50 is chance): homophilous."),
        (0.9, "Labels sit at high frequencies (frequency 0.90, where 0.50 is chance): heterophilous."),
        (0.48, "Labels are spread over all frequencies"),
    ],
)
def test_where_the_labels_are(frequency: float, words: str) -> None:
    assert words in said(labels(frequency))


@pytest.mark.parametrize(
    ("edge", "adjusted", "words"),
    [
        (0.68, 0.009, "Edge homophily 0.68 but adjusted 0.01: do not trust the edge measure here, unbalanced"),
        (0.45, 0.38, "Edge homophily 0.45 but adjusted 0.38: do not trust the edge measure here, edges join"),
        (0.81, 0.77, "Edge homophily 0.81 and adjusted 0.77 tell the same story."),
        (0.22, -0.001, "Edge homophily 0.22 and adjusted 0.00 tell the same story."),
    ],
)
def test_whether_edge_homophily_can_be_trusted(edge: float, adjusted: float, words: str) -> None:
    assert words in said(labels(edge=edge, adjusted=adjusted))


def test_undefined_measures_are_not_spoken_of() -> None:
    assert "homophily" not in said(labels(edge=None, adjusted=None))


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([0.5, 0.5, -0.5, -0.2], "The low-frequency part is removed by negative weights."),
        ([-0.5, -0.5, 0.5, 0.2], "The high-frequency part is removed by negative weights."),
        ([0.2, 0.2, 0.6, 0.6], "Both halves of the spectrum are kept, 75 % of the weight on the low-frequency half."),
        ([0.0, 0.0, 0.0, 0.0], "Both halves of the spectrum are kept, 0 % of the weight"),
    ],
)
def test_what_the_weights_do(weights: list[float], words: str) -> None:
    assert words in said(weights=weights)


@pytest.mark.parametrize("weights", [[0.5, 0.5, -0.1, -0.1], [-0.1, -0.1, 0.5, 0.5]])
def test_weights_that_differ_between_splits_are_not_trusted(weights: list[float]) -> None:
    assert "but the weights differ more than that from split to split." in said(weights=weights, spread=0.3)
    assert "but" not in said(weights=weights, spread=0.1)


def test_only_the_part_spoken_of_has_to_be_sure() -> None:
    removed_high = [-0.1, -0.1, 0.5, 0.5]
    on_low, on_high = (0.0, 0.0, 0.3, 0.3), (0.3, 0.3, 0.0, 0.0)
    assert "but" not in said(weights=removed_high, spread=on_low)
    assert "but the weights differ" in said(weights=removed_high, spread=on_high)


def test_equal_frequencies_leave_nothing_to_choose() -> None:
    flat = verdict(None, np.full(3, 0.5), np.ones(3), np.zeros(3), 0, 0, 5)
    assert flat[0] == "All basis vectors have the same frequency, so the weights select none."


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({}, "Every one of the 1,000 channels spans 4 dimensions."),
        ({"broken_down": 77}, "77 of 1,000 channels span fewer than 4 dimensions."),
        ({"zero_columns": 1}, "1 of 1,000 has no signal and is left out."),
        ({"broken_down": 7, "zero_columns": 2}, "dimensions; 2 of 1,000 have no signal and are left out."),
    ],
)
def test_channels_that_stop_early(counts: dict[str, int], words: str) -> None:
    assert words in said(**counts)
