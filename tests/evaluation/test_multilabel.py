from __future__ import annotations

import json

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given
from hypothesis import strategies as st

from unifilter.evaluation import MultilabelReport, multilabel_report

SEED = st.integers(0, 2**32 - 1)


def outputs(seed: int, n: int, L: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities that are better than chance, and what they predict."""
    rng = np.random.default_rng(seed)
    targets = rng.random((n, L)) < 0.4
    return np.clip(0.3 * targets + 0.8 * rng.random((n, L)), 0, 1), targets


def report_on(probabilities: np.ndarray, targets: np.ndarray) -> MultilabelReport:
    return multilabel_report(probabilities, targets, [f"label {j}" for j in range(probabilities.shape[1])])


@pytest.mark.parametrize(("n", "L"), [(60, 1), (60, 4), (300, 50)])
def test_same_figures_as_scikit_learn(n: int, L: int) -> None:
    probabilities, targets = outputs(L, n, L)
    predicted = probabilities > 0.5
    report = report_on(probabilities, targets)
    # scikit-learn takes a single column as two classes.
    two = np.concatenate([targets, targets], axis=1), np.concatenate([predicted, predicted], axis=1)
    assert report.nodes == report.complete == n
    assert report.subset_accuracy == pytest.approx(sk.accuracy_score(*two))
    assert report.micro_f1 == pytest.approx(sk.f1_score(*two, average="micro"))
    assert report.macro_f1 == pytest.approx(sk.f1_score(*two, average="macro"))
    assert report.accuracy == pytest.approx(1 - sk.hamming_loss(*two))
    assert report.roc_auc == pytest.approx(sk.roc_auc_score(targets, probabilities, average="macro"))
    for j, scores in enumerate(report.per_label):
        assert scores.name == f"label {j}"
        assert scores.precision == pytest.approx(sk.precision_score(targets[:, j], predicted[:, j]))
        assert scores.recall == pytest.approx(sk.recall_score(targets[:, j], predicted[:, j]))
        assert scores.f1 == pytest.approx(sk.f1_score(targets[:, j], predicted[:, j]))
        assert (scores.known, scores.support, scores.predicted) == (n, targets[:, j].sum(), predicted[:, j].sum())


@given(SEED, st.integers(1, 20), st.integers(1, 5))
def test_unknown_values_are_left_out_label_by_label(seed: int, n: int, L: int) -> None:
    probabilities, truth = outputs(seed, n, L)
    known = np.random.default_rng(seed).random((n, L)) < 0.6
    known[0, 0] = True
    report = report_on(probabilities, np.where(known, truth, np.nan))
    for j, scores in enumerate(report.per_label):
        rows = known[:, j]
        assert scores.known == rows.sum()
        if rows.any():
            (alone,) = report_on(probabilities[rows, j : j + 1], truth[rows, j : j + 1]).per_label
            assert (scores.f1, scores.roc_auc, scores.accuracy) == (alone.f1, alone.roc_auc, alone.accuracy)
            assert scores.baseline_accuracy == alone.baseline_accuracy
        else:
            assert scores.accuracy is scores.baseline_accuracy is scores.roc_auc is None
    complete = known.all(axis=1)
    assert report.complete == complete.sum()
    if complete.any():
        whole = report_on(probabilities[complete], truth[complete])
        assert report.subset_accuracy == whole.subset_accuracy
    else:
        assert report.subset_accuracy is report.baseline_subset_accuracy is None


@given(SEED, st.integers(1, 20), st.integers(1, 5))
def test_the_figures_agree_with_each_other(seed: int, n: int, L: int) -> None:
    report = report_on(*outputs(seed, n, L))
    assert report.subset_accuracy is not None
    assert 0 <= report.subset_accuracy <= report.accuracy <= 1
    assert report.accuracy == pytest.approx(np.mean([scores.accuracy for scores in report.per_label]))
    # The more frequent value is right at least half of the time.
    assert all(scores.baseline_accuracy >= 0.5 for scores in report.per_label if scores.baseline_accuracy is not None)
    assert min(scores.f1 for scores in report.per_label) <= report.macro_f1 <= 1
    stored = report.to_dict()
    assert json.loads(json.dumps(stored, allow_nan=False)) == stored


def test_labels_of_which_one_value_occurs() -> None:
    report = report_on(np.array([[0.1, 0.9], [0.2, 0.2]]), np.array([[False, True], [False, True]]))
    never, always = report.per_label
    assert (never.precision, never.recall, never.f1, never.roc_auc) == (None, None, 0, None)
    assert (always.precision, always.recall, always.roc_auc) == (1, 0.5, None)
    assert report.roc_auc is None
    assert report.macro_f1 == always.f1 / 2
    assert report_on(np.array([[0.1]]), np.array([[False]])).micro_f1 == 0


def test_half_is_no_prediction() -> None:
    assert report_on(np.array([[0.5]]), np.array([[True]])).per_label[0].predicted == 0


def test_the_baseline_may_come_from_training_nodes() -> None:
    probabilities, targets = np.full((4, 2), 0.7), np.array([[1, 0], [1, 0], [1, 1], [0, 1]])
    report = report_on(probabilities, targets)
    assert [scores.baseline_accuracy for scores in report.per_label] == [0.75, 0.5]
    assert report.baseline_accuracy == 0.625
    assert report.baseline_subset_accuracy == 0.5
    given_values = multilabel_report(probabilities, targets, "ab", majority=[False, True])
    assert [scores.baseline_accuracy for scores in given_values.per_label] == [0.25, 0.5]
    assert given_values.baseline_subset_accuracy == 0.25


@pytest.mark.parametrize("majority", [[True], [0.4, 0.6], True])
def test_a_majority_that_is_not_one_boolean_per_label(majority: object) -> None:
    with pytest.raises(ValueError, match="^majority must be 2 booleans, one per label, not .*: pass the more"):
        multilabel_report([[0.1, 0.2]], [[0, 1]], "ab", majority=majority)


def test_wrong_inputs() -> None:
    with pytest.raises(ValueError, match=r"^targets must have shape \[1, 2\]"):
        multilabel_report([[0.1, 0.2]], [[0]], "ab")
    with pytest.raises(ValueError, match=r"^row 0 of probabilities contains 3, which is not in \[0, 1\]"):
        multilabel_report([[0.1, 3.0]], [[0, 1]], "ab")
    with pytest.raises(ValueError, match="^names has 3 names for 2 labels"):
        multilabel_report([[0.1, 0.2]], [[0, 1]], "abc")


def test_the_text_holds_the_figures() -> None:
    lines = str(report_on(np.array([[0.1, 0.9], [0.2, 0.2]]), np.array([[0.0, 1.0], [0.0, np.nan]]))).split("\n")
    assert lines[1].split()[2:] == ["-", "-", "0.0000", "-", "1.0000", "1.0000", "2", "0", "0"]
    assert lines[2].split()[2:] == ["1.0000", "1.0000", "1.0000", "-", "1.0000", "1.0000", "1", "1", "1"]
    assert [line.split()[-1] for line in lines[4:]] == ["2", "1", *["1.0000"] * 5, "0.5000", "-"]
