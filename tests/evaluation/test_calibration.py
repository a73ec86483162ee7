from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit, log_softmax, softmax

from unifilter.evaluation import fit_temperature, fit_temperature_binary, reliability

SEED = st.integers(0, 2**32 - 1)


def drawn(seed: int, n: int, C: int, temperature: float, size: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    """Logits, and labels from the softmax of the logits divided by the temperature."""
    rng = np.random.default_rng(seed)
    logits = size * rng.normal(size=(n, C))
    cumulative = softmax(logits / temperature, axis=1).cumsum(axis=1)
    labels = (rng.random((n, 1)) > cumulative[:, :-1]).sum(axis=1)
    return logits, labels


# reliability


@given(SEED, st.integers(1, 60), st.sampled_from([1, 2, 5, 50]), st.integers(1, 20))
def test_bins_hold_every_node_once(seed: int, n: int, C: int, bins: int) -> None:
    logits, labels = drawn(seed, n, C, 1.0)
    probabilities = softmax(logits, axis=1)
    found = reliability(probabilities, labels, bins)
    count, confidence, accuracy = map(np.array, (found.count, found.confidence, found.accuracy))
    assert count.sum() == n
    assert 0 < len(count) <= bins
    assert (count > 0).all()
    assert (np.diff(confidence) > 0).all()
    assert count @ accuracy / n == pytest.approx((probabilities.argmax(axis=1) == labels).mean())
    assert count @ confidence / n == pytest.approx(probabilities.max(axis=1).mean())
    assert 0 <= found.error <= 1
    # The triangle inequality: bins can only reveal more than the total does.
    assert found.error >= abs(count @ (accuracy - confidence)) / n - 1e-12
    stored = found.to_dict()
    assert json.loads(json.dumps(stored, allow_nan=False)) == stored


def test_by_hand() -> None:
    probabilities = [[0.9, 0.1], [0.95, 0.05], [0.3, 0.7], [1.0, 0.0]]
    found = reliability(probabilities, [0, 1, 1, 0], bins=5)
    assert found.count == (1, 3)
    assert found.confidence == pytest.approx((0.7, 0.95))
    assert found.accuracy == pytest.approx((1, 2 / 3))
    assert found.error == pytest.approx((0.3 + 3 * (0.95 - 2 / 3)) / 4)


def test_the_error_of_calibrated_and_of_overconfident_outputs() -> None:
    logits, labels = drawn(0, 50_000, 4, temperature=1.0)
    assert reliability(softmax(logits, axis=1), labels).error < 0.01
    assert reliability(softmax(3 * logits, axis=1), labels).error > 0.05


def test_all_right_and_all_wrong() -> None:
    assert reliability(np.eye(3), [0, 1, 2]).error == 0
    assert reliability(np.eye(3), [1, 2, 0]).error == 1


def test_bins_are_a_count() -> None:
    with pytest.raises(ValueError, match="^bins must be a whole number of at least 1, not 0: pass bins=15$"):
        reliability([[1.0]], [0], bins=0)


# fit_temperature


@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("C", [2, 50])
def test_the_temperature_that_made_the_labels_is_found(temperature: float, C: int) -> None:
    assert fit_temperature(*drawn(C, 4000, C, temperature)) == pytest.approx(temperature, rel=0.1)


@given(SEED, st.integers(1, 30), st.integers(1, 6), st.floats(0.1, 10))
def test_no_other_temperature_is_better(seed: int, n: int, C: int, temperature: float) -> None:
    logits, labels = drawn(seed, n, C, temperature)

    def loss(T: float) -> float:
        return float(0.5 * np.log(T) ** 2 - log_softmax(logits / T, axis=1)[np.arange(n), labels].sum())

    found = fit_temperature(logits, labels)
    assert loss(found) <= min(map(loss, np.geomspace(0.05, 20, 60))) + 1e-6


@given(SEED, arrays(np.float64, 20, elements=st.floats(-1e3, 1e3)))
def test_a_constant_added_to_a_row_changes_nothing(seed: int, shift: np.ndarray) -> None:
    logits, labels = drawn(seed, 20, 3, 1.0)
    assert fit_temperature(logits + shift[:, None], labels) == pytest.approx(fit_temperature(logits, labels), rel=1e-4)


@given(SEED, st.floats(0.3, 3))
def test_the_temperature_scales_with_the_logits(seed: int, factor: float) -> None:
    logits, labels = drawn(seed, 2000, 3, 1.5)
    # Weights make the prior negligible.
    weights = np.full(2000, 1e4)
    once = fit_temperature(logits, labels, weights)
    assert fit_temperature(factor * logits, labels, weights) == pytest.approx(factor * once, rel=1e-3)


@given(SEED, arrays(np.int64, 15, elements=st.integers(0, 4)).filter(np.any))
def test_a_weight_is_a_number_of_copies(seed: int, copies: np.ndarray) -> None:
    logits, labels = drawn(seed, 15, 3, 2.0)
    repeated = fit_temperature(np.repeat(logits, copies, axis=0), np.repeat(labels, copies))
    assert fit_temperature(logits, labels, copies) == pytest.approx(repeated, rel=1e-4)


@pytest.mark.parametrize("n", [1, 10, 1000])
def test_separated_nodes_give_no_extreme_value(n: int) -> None:
    labels = np.arange(n) % 3
    assert 0.15 < fit_temperature(2 * np.eye(3)[labels], labels) < 1
    # One node that is wrong says little.
    assert 1 < fit_temperature([[2.0, 0.0]], [1]) < 3


def test_logits_without_information_leave_the_prior() -> None:
    assert fit_temperature(np.zeros((100, 4)), np.zeros(100, dtype=int)) == pytest.approx(1, abs=1e-4)
    assert fit_temperature(np.ones((5, 1)), np.zeros(5, dtype=int)) == pytest.approx(1, abs=1e-4)


@given(
    arrays(np.float64, (4, 3), elements=st.floats(allow_nan=False, allow_infinity=False)),
    arrays(np.int64, 4, elements=st.integers(0, 2)),
)
def test_finite_for_all_finite_logits(logits: np.ndarray, labels: np.ndarray) -> None:
    assert 0.05 <= fit_temperature(logits, labels) <= 20
    assert 0.05 <= fit_temperature_binary(logits, labels[:, None] == np.arange(3)) <= 20


def test_hopeless_logits_give_the_highest_temperature() -> None:
    largest = np.finfo(np.float64).max
    assert fit_temperature([[largest, -largest]], [1]) == pytest.approx(20, rel=1e-3)
    assert fit_temperature_binary([largest], [False]) == pytest.approx(20, rel=1e-3)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"^weights has 1 numbers for 2 rows: pass one number per row$"),
        ([[1.0], [1.0]], r"^weights must be a non-empty array of shape \[rows\]: this one has shape \[2, 1\]$"),
        ([1.0, np.inf], r"^row 1 of weights contains inf"),
        ([1.0, -2.0], r"^the weight of row 1 is -2: weights must be 0 or more$"),
        ([0.0, 0.0], r"^all weights are 0: pass at least one that is positive$"),
    ],
)
def test_weights_that_mean_nothing(weights: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_temperature(np.zeros((2, 2)), [0, 1], weights)


def test_the_first_logit_that_is_not_finite_is_named() -> None:
    with pytest.raises(ValueError, match="^row 1 of logits contains nan"):
        fit_temperature([[0.0, 1.0], [np.nan, 0.0]], [0, 1])
    with pytest.raises(ValueError, match="^row 1 of logits contains inf"):
        fit_temperature_binary([0.0, np.inf], [0, 1])


# fit_temperature_binary


@given(SEED, st.integers(1, 20), st.floats(0.2, 5))
def test_binary_logits_are_two_classes(seed: int, n: int, temperature: float) -> None:
    rng = np.random.default_rng(seed)
    logits = 3 * rng.normal(size=n)
    targets = rng.random(n) < expit(logits / temperature)
    classes = np.stack([np.zeros(n), logits], axis=1)
    assert fit_temperature_binary(logits, targets) == pytest.approx(
        fit_temperature(classes, targets.astype(int)), rel=1e-4
    )


def test_one_temperature_for_all_labels() -> None:
    rng = np.random.default_rng(0)
    logits = 4 * rng.normal(size=(2000, 3))
    targets = rng.random((2000, 3)) < expit(logits / 2.5)
    assert fit_temperature_binary(logits, targets) == pytest.approx(2.5, rel=0.1)
    assert fit_temperature_binary(logits, targets) == fit_temperature_binary(logits.ravel(), targets.ravel())


def test_unknown_targets_do_not_count() -> None:
    rng = np.random.default_rng(1)
    logits, known = 3 * rng.normal(size=(50, 4)), rng.random((50, 4)) < 0.6
    targets = np.where(known, rng.random((50, 4)) < 0.5, np.nan)
    assert fit_temperature_binary(logits, targets) == fit_temperature_binary(logits[known], targets[known])
    with pytest.raises(ValueError, match="^targets must have shape"):
        fit_temperature_binary(logits, targets[:, 0])
