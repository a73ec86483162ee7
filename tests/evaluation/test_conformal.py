from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import betabinom

from unifilter.evaluation import conformal_scores, interval_halfwidth, prediction_sets

REPETITIONS, NEW = 400, 60


def assert_exact_coverage(covered: np.ndarray, m: int, rank: int) -> None:
    """The distribution of covered new nodes, among ``NEW`` in each repetition, is beta-binomial.

    Of continuous exchangeable scores the coverage given the calibration nodes is Beta(rank, m + 1 - rank).
    """
    law = betabinom(NEW, rank, m + 1 - rank)
    assert law.ppf(1e-7) <= covered.min()
    assert covered.max() <= law.isf(1e-7)
    assert covered.mean() == pytest.approx(law.mean(), abs=4 * law.std() / math.sqrt(len(covered)))
    # The spread too; the tolerance is generous for 400 repetitions.
    assert covered.std() == pytest.approx(law.std(), rel=0.25)


@pytest.mark.parametrize(("m", "alpha", "rank"), [(19, 0.05, 19), (19, 0.1, 18), (50, 0.2, 41), (200, 0.1, 181)])
def test_the_coverage_of_sets(m: int, alpha: float, rank: int) -> None:
    rng = np.random.default_rng(m)
    covered = np.empty(REPETITIONS)
    for repetition in range(REPETITIONS):
        # Calibrated outputs for two classes: wrong in a quarter of the cases, more often than alpha allows. So the
        # threshold is above 1/2, which the most probable class always passes, and the coverage is exact.
        top = rng.uniform(0.5, 1, size=m + NEW)
        first = rng.random(m + NEW) < 0.5
        probabilities = np.where(first[:, None], np.stack([top, 1 - top], 1), np.stack([1 - top, top], 1))
        labels = np.where(rng.random(m + NEW) < top, ~first, first).astype(int)
        scores = conformal_scores(probabilities[:m], labels[:m])
        sets = prediction_sets(probabilities[m:], scores, alpha)
        covered[repetition] = sets[np.arange(NEW), labels[m:]].sum()
    assert_exact_coverage(covered, m, rank)


@pytest.mark.parametrize(("m", "alpha", "rank"), [(9, 0.1, 9), (19, 0.5, 10), (99, 0.3, 70), (150, 0.05, 144)])
def test_the_coverage_of_intervals(m: int, alpha: float, rank: int) -> None:
    rng = np.random.default_rng(m)
    # Heavy tails: nothing is assumed of the distribution.
    residuals = rng.standard_t(2, size=(REPETITIONS, m + NEW))
    halfwidth = np.array([interval_halfwidth(row[:m], alpha) for row in residuals])
    assert_exact_coverage((np.abs(residuals[:, m:]) <= halfwidth[:, None]).sum(axis=1), m, rank)


def test_a_poor_model_of_many_classes_still_covers() -> None:
    rng = np.random.default_rng(0)
    m, n, C, alpha = 500, 4000, 50, 0.1
    probabilities = softmax(rng.normal(size=(m + n, C)), axis=1)
    labels = rng.integers(C, size=m + n)  # nothing was learned
    sets = prediction_sets(probabilities[m:], conformal_scores(probabilities[:m], labels[:m]), alpha)
    covered = sets[np.arange(n), labels[m:]].sum()
    rank = math.ceil((m + 1) * (1 - alpha))
    assert betabinom(n, rank, m + 1 - rank).sf(covered) < 1 - 1e-4
    # The price is sets of most classes.
    assert sets.sum(axis=1).mean() > 0.8 * C


def test_scores_by_hand() -> None:
    np.testing.assert_array_equal(conformal_scores([[0.25, 0.75], [0.5, 0.5]], [0, 1]), [0.75, 0.5])


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.integers(1, 99))
def test_the_rank_is_the_exact_one(residuals: list[float], percent: int) -> None:
    # In whole numbers: ceil((m + 1)(100 - percent) / 100).
    rank = -(-(len(residuals) + 1) * (100 - percent) // 100)
    ordered = sorted(map(abs, residuals))
    expected = ordered[rank - 1] if rank <= len(ordered) else math.inf
    assert interval_halfwidth(residuals, percent / 100) == expected


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 6), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_sets_are_nested_and_never_empty(seed: int, m: int, C: int, one: float, other: float) -> None:
    rng = np.random.default_rng(seed)
    probabilities = softmax(3 * rng.normal(size=(20, C)), axis=1)
    scores = rng.random(m)
    narrow, wide = (prediction_sets(probabilities, scores, alpha) for alpha in sorted((one, other), reverse=True))
    assert narrow.dtype == bool
    assert narrow.shape == (20, C)
    assert (wide | ~narrow).all()
    assert narrow[np.arange(20), probabilities.argmax(axis=1)].all()
    # With a class, all that are more probable are in.
    ordered = np.take_along_axis(narrow, np.argsort(-probabilities, axis=1), axis=1)
    assert (ordered[:, :-1] | ~ordered[:, 1:]).all()


def test_too_few_calibration_nodes() -> None:
    scores, probabilities = [0.01] * 8, [[0.98, 0.01, 0.01]]
    assert prediction_sets(probabilities, scores, 0.1).all()
    assert interval_halfwidth(scores, 0.1) == math.inf
    # The ninth is enough.
    assert prediction_sets(probabilities, [*scores, 0.01], 0.1).tolist() == [[True, False, False]]
    assert interval_halfwidth([*scores, 0.01], 0.1) == 0.01


def test_the_most_probable_class_is_in_where_no_class_reaches_the_threshold() -> None:
    assert prediction_sets([[0.3, 0.4, 0.3]], [0.0] * 10, 0.5).tolist() == [[False, True, False]]


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5, math.nan, None, "a tenth"])
def test_alpha_lies_between_0_and_1(alpha: Any) -> None:
    message = "^alpha must lie between 0 and 1, not .*: pass 0.1 for a coverage of 90 %$"
    with pytest.raises(ValueError, match=message):
        prediction_sets([[0.5, 0.5]], [0.5], alpha)
    with pytest.raises(ValueError, match=message):
        interval_halfwidth([0.5], alpha)


def test_calibration_scores_are_checked() -> None:
    with pytest.raises(ValueError, match=r"^scores must be a non-empty array of shape \[rows\]"):
        prediction_sets([[0.5, 0.5]], [], 0.1)
    with pytest.raises(ValueError, match=r"^residuals must be a non-empty array of shape \[rows\]"):
        interval_halfwidth([[0.5]], 0.1)
    with pytest.raises(ValueError, match="^row 1 of scores contains nan"):
        prediction_sets([[0.5, 0.5]], [0.1, math.nan], 0.1)
    with pytest.raises(ValueError, match="^the label of row 0 is 2"):
        conformal_scores([[0.5, 0.5]], [2])
