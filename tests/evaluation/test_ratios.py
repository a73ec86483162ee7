from __future__ import annotations

import numpy as np

from unifilter.evaluation.ratios import f1_score, mean_of_defined, ratio, roc_auc


def test_nothing_to_divide_by() -> None:
    assert ratio(0, 0) is None
    assert mean_of_defined([None, None]) is None
    assert f1_score(0, 0, 0) == 0
    assert roc_auc(np.array([0.5]), np.array([True])) is None
    assert roc_auc(np.array([0.5]), np.array([False])) is None
    assert roc_auc(np.array([]), np.array([], dtype=bool)) is None


def test_by_hand() -> None:
    assert ratio(1, 4) == 0.25
    assert mean_of_defined([1.0, None, 2.0]) == 1.5
    assert f1_score(1, 2, 2) == 0.5
    # Three of the four pairs of a positive and a negative are in order.
    assert roc_auc(np.array([0.1, 0.4, 0.3, 0.8]), np.array([False, False, True, True])) == 0.75
