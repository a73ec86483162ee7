from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports.samples import good

from unifilter.reports.comparison import Comparison, compare_with


def compared(
    model: list[float | None], mlp: list[float | None], train: int = 1200, test: int = 400
) -> Comparison | None:
    report = good()
    report["split"] |= {"train": train, "test": test}
    report["scores"] = [
        {"name": "m", "role": role, "mean": 0.0, "std": 0.0, "values": values}
        for role, values in (("model", model), ("mlp", mlp))
    ]
    return compare_with(report, "mlp")


def test_nothing_to_compare_with() -> None:
    report = good()
    report["scores"] = [one for one in report["scores"] if one["role"] != "mlp"]
    assert compare_with(report, "mlp") is None
    assert compared([None, 0.5], [0.5, None]) is None


def test_splits_without_a_score_are_left_out() -> None:
    found = compared([0.9, None, 0.8], [0.8, 0.5, 0.9])
    assert found is not None
    assert (found.splits, found.better, found.worse) == (2, 1, 1)
    assert found.difference == pytest.approx(0)


def test_one_split_decides_nothing() -> None:
    found = compared([0.9], [0.1])
    assert found is not None
    assert found.outcome == "unknown"


@pytest.mark.parametrize(
    ("shift", "outcome"), [(0.05, "better"), (-0.05, "worse"), (0.002, "same"), (-0.002, "same"), (0.0, "same")]
)
def test_outcomes(shift: float, outcome: str) -> None:
    wobble = [0.004, -0.011, 0.007, 0.0, 0.013, -0.006, -0.009, 0.002, 0.01, -0.01]
    found = compared([0.8 + shift + one for one in wobble], [0.8] * 10)
    assert found is not None
    assert found.outcome == outcome
    assert found.difference == pytest.approx(shift)


def test_shared_training_nodes_make_a_difference_less_sure() -> None:
    """Ten differences of mean 1 and standard deviation 1 pass an ordinary t-test, but not the corrected one."""
    differences = np.array([0.0, 2.0] * 5)
    differences = 1 + (differences - 1) / differences.std(ddof=1)
    model, mlp = list(differences), [0.0] * 10
    nearly_independent, sharing = compared(model, mlp, train=10_000, test=10), compared(model, mlp)
    assert nearly_independent is not None
    assert sharing is not None
    assert (nearly_independent.outcome, sharing.outcome) == ("better", "same")


def test_equal_differences_are_sure() -> None:
    found = compared([0.75] * 3, [0.5] * 3)
    assert found is not None
    assert found.outcome == "better"


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12))
def test_exchanging_the_two_turns_the_outcome(pairs: list[tuple[float, float]]) -> None:
    ours, theirs = [list(values) for values in zip(*pairs, strict=True)]
    found, turned = compared(ours, theirs), compared(theirs, ours)
    assert found is not None
    assert turned is not None
    assert (found.better, found.worse, found.difference) == (turned.worse, turned.better, -turned.difference)
    assert found.outcome == {"better": "worse", "worse": "better"}.get(turned.outcome, turned.outcome)


def test_chance_is_seldom_taken_for_a_difference() -> None:
    """With independent splits, which the test is stricter than, at most one of twenty pure chances gets through."""
    random = np.random.default_rng(0)
    outcomes = [compared(list(random.normal(size=10)), list(random.normal(size=10))) for _ in range(300)]
    assert sum(found is not None and found.outcome != "same" for found in outcomes) <= 0.05 * 300
