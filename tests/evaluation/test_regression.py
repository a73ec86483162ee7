from __future__ import annotations

import json

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unifilter.evaluation import RESIDUAL_LEVELS, regression_report

# Not so small that their squares are 0.
NUMBERS = st.one_of(st.just(0.0), st.floats(1e-3, 1e6), st.floats(-1e6, -1e-3))


@pytest.mark.parametrize("t", [1, 3])
def test_same_figures_as_scikit_learn(t: int) -> None:
    rng = np.random.default_rng(t)
    target = rng.normal(size=(80, t))
    predicted = target + 0.5 * rng.normal(size=(80, t))
    train_mean = rng.normal(size=t)
    report = regression_report(predicted, target, [f"y{j}" for j in range(t)], baseline=train_mean)
    constant = np.broadcast_to(train_mean, (80, t))
    assert report.nodes == 80
    assert report.r2 == pytest.approx(sk.r2_score(target, predicted))
    assert report.rmse == pytest.approx(sk.root_mean_squared_error(target, predicted))
    assert report.mae == pytest.approx(sk.mean_absolute_error(target, predicted))
    assert report.baseline_rmse == pytest.approx(sk.root_mean_squared_error(target, constant))
    assert report.baseline_mae == pytest.approx(sk.mean_absolute_error(target, constant))
    for j, scores in enumerate(report.per_target):
        assert scores.name == f"y{j}"
        assert scores.baseline == train_mean[j]
        assert scores.r2 == pytest.approx(sk.r2_score(target[:, j], predicted[:, j]))
        assert scores.rmse == pytest.approx(sk.root_mean_squared_error(target[:, j], predicted[:, j]))


@given(arrays(np.float64, (6, 2), elements=NUMBERS))
def test_the_mean_is_the_baseline_that_r2_compares_with(pair: np.ndarray) -> None:
    predicted, target = pair.T
    report = regression_report(predicted, target)
    (scores,) = report.per_target
    assert scores.mae <= scores.rmse * (1 + 1e-9)
    assert list(scores.residual_quantiles) == sorted(scores.residual_quantiles)
    if np.ptp(target) > 1e-3:
        assert scores.r2 is not None
        assert 1 - scores.r2 == pytest.approx((scores.rmse / scores.baseline_rmse) ** 2)


def test_residuals_are_target_less_prediction() -> None:
    target = np.linspace(0, 1, 101)
    report = regression_report(np.zeros(101), target)
    assert report.per_target[0].residual_quantiles == pytest.approx(RESIDUAL_LEVELS)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e-200, 1e5])
@pytest.mark.parametrize("n", [1, 3, 10])
def test_a_constant_target_has_no_r2(value: float, n: int) -> None:
    report = regression_report(np.full(n, value + 1), np.full(n, value))
    assert report.r2 is None
    assert report.rmse == pytest.approx(1)
    assert report.baseline_rmse == pytest.approx(0)


def test_a_variation_too_small_to_square_has_no_r2() -> None:
    assert regression_report([0.0, 0.0], [0.0, 1e-200]).r2 is None


def test_a_constant_target_is_left_out_of_the_mean_r2() -> None:
    target = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    report = regression_report(target, target, ["moves", "stays"])
    assert report.r2 == 1
    assert report.per_target[1].r2 is None


def test_one_number_is_the_baseline_of_all_targets() -> None:
    target = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert [scores.baseline for scores in regression_report(target, target, "ab", baseline=7).per_target] == [7, 7]
    assert [scores.baseline for scores in regression_report(target, target, "ab").per_target] == [2, 3]


def test_wrong_inputs() -> None:
    with pytest.raises(
        ValueError, match=r"^predicted has shape \[2, 1\] and target \[2\]: pass both in the same shape$"
    ):
        regression_report([[1.0], [2.0]], [1.0, 2.0])
    with pytest.raises(ValueError, match="^row 1 of predicted contains nan"):
        regression_report([1.0, np.nan], [1.0, 2.0])
    with pytest.raises(ValueError, match="^row 0 of target contains inf"):
        regression_report([1.0, 2.0], [np.inf, 2.0])
    with pytest.raises(
        ValueError, match=r"^predicted must be a non-empty array of shape \[rows\] or \[rows, columns\]"
    ):
        regression_report([], [])
    with pytest.raises(ValueError, match="^names has 1 names for 2 targets: pass one name for each column$"):
        regression_report(np.zeros((3, 2)), np.zeros((3, 2)))


@pytest.mark.parametrize("baseline", [np.nan, [1.0, 2.0], [np.inf]])
def test_a_baseline_that_is_no_number(baseline: object) -> None:
    with pytest.raises(ValueError, match="^baseline must be one finite number, or one for each of 1 targets, not .*"):
        regression_report([1.0], [1.0], baseline=baseline)


def test_the_dictionary_is_json() -> None:
    stored = regression_report([1.0, 2.0], [3.0, 3.0]).to_dict()
    assert json.loads(json.dumps(stored, allow_nan=False)) == stored
    assert stored["r2"] is None
    assert len(stored["per_target"][0]["residual_quantiles"]) == 5


def test_the_text_has_a_mean_where_there_are_several_targets() -> None:
    target = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    lines = str(regression_report(target + 1, target, ["moves", "stays"])).split("\n")
    assert lines[1].split() == ["moves", "-0.5", "1", "1", "0.8165", "0.6667"]
    assert lines[2].split() == ["stays", "-", "1", "1", "0", "0"]
    assert lines[3].split() == ["mean", "-0.5", "1", "1", "0.4082", "0.3333"]
    assert lines[-1] == "nodes  3"
    assert "mean" not in str(regression_report([1.0], [2.0]))


def test_unknown_entries_are_left_out_target_by_target() -> None:
    predicted = np.array([[1.0, 5.0], [2.0, 6.0], [4.0, 9.0]])
    target = np.array([[1.0, np.nan], [3.0, 7.0], [np.nan, 8.0]])
    report = regression_report(predicted, target, ["a", "b"])
    first = regression_report(predicted[:2, 0], target[:2, 0], ["a"]).per_target[0]
    second = regression_report(predicted[1:, 1], target[1:, 1], ["b"]).per_target[0]
    assert report.per_target == (first, second)
    assert (report.nodes, report.rmse) == (3, (first.rmse + second.rmse) / 2)


def test_a_target_that_is_unknown_everywhere_is_named() -> None:
    target = np.array([[1.0, np.nan], [3.0, np.nan]])
    with pytest.raises(ValueError, match="'b' is unknown in all 2 rows: leave it out, or pass rows that have it"):
        regression_report(np.zeros((2, 2)), target, ["a", "b"])
    with pytest.raises(ValueError, match="^row 1 of target contains inf"):
        regression_report([1.0, 2.0], [np.nan, np.inf])
