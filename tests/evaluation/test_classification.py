from __future__ import annotations

import json

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given
from hypothesis import strategies as st

from unifilter.evaluation import ClassificationReport, classification_report, reliability


def outputs(seed: int, n: int, C: int, classes: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities that are better than chance, and labels among the first ``classes`` of ``C``."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes or C, size=n)
    logits = rng.normal(size=(n, C))
    logits[np.arange(n), labels] += 1
    probabilities = np.exp(logits)
    return probabilities / probabilities.sum(axis=1, keepdims=True), labels


def report_on(probabilities: np.ndarray, labels: np.ndarray, majority: int | None = None) -> ClassificationReport:
    names = [f"class {k}" for k in range(probabilities.shape[1])]
    return classification_report(probabilities, labels, names, majority)


@pytest.mark.parametrize(("n", "C"), [(1, 2), (1, 3), (30, 2), (30, 50), (400, 7)])
def test_same_figures_as_scikit_learn(n: int, C: int) -> None:
    probabilities, labels = outputs(n + C, n, C)
    predicted, every = probabilities.argmax(axis=1), np.arange(C)
    report = report_on(probabilities, labels)
    assert report.nodes == n
    assert report.accuracy == pytest.approx(sk.accuracy_score(labels, predicted))
    assert report.macro_f1 == pytest.approx(
        sk.f1_score(labels, predicted, labels=every, average="macro", zero_division=0)
    )
    occurring = np.unique(labels)
    assert report.balanced_accuracy == pytest.approx(
        sk.recall_score(labels, predicted, labels=occurring, average="macro", zero_division=0)
    )
    assert report.log_loss == pytest.approx(sk.log_loss(labels, probabilities, labels=every))
    np.testing.assert_array_equal(report.confusion, sk.confusion_matrix(labels, predicted, labels=every))
    precision, recall, f1, support = sk.precision_recall_fscore_support(
        labels, predicted, labels=every, zero_division=0
    )
    for k, scores in enumerate(report.per_class):
        assert scores.name == f"class {k}"
        assert scores.support == support[k]
        assert scores.predicted == (predicted == k).sum()
        assert (scores.precision is None) == (scores.predicted == 0)
        assert (scores.recall is None) == (scores.support == 0)
        assert (scores.precision or 0) == pytest.approx(precision[k])
        assert (scores.recall or 0) == pytest.approx(recall[k])
        assert scores.f1 == pytest.approx(f1[k])


def test_roc_auc_is_for_two_classes_that_both_occur() -> None:
    probabilities, labels = outputs(0, 60, 2)
    assert report_on(probabilities, labels).roc_auc == pytest.approx(sk.roc_auc_score(labels, probabilities[:, 1]))
    assert report_on(probabilities, np.zeros(60, dtype=int)).roc_auc is None
    assert report_on(*outputs(0, 60, 3)).roc_auc is None


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.sampled_from([2, 3, 50]))
def test_the_figures_agree_with_each_other(seed: int, n: int, C: int) -> None:
    probabilities, labels = outputs(seed, n, C)
    report = report_on(probabilities, labels)
    assert report.confusion.sum() == n
    np.testing.assert_array_equal(report.confusion.sum(axis=1), [scores.support for scores in report.per_class])
    np.testing.assert_array_equal(report.confusion.sum(axis=0), [scores.predicted for scores in report.per_class])
    assert report.accuracy == np.trace(report.confusion) / n
    assert report.majority_accuracy == report.confusion.sum(axis=1).max() / n
    assert set(report.missing) == {scores.name for scores in report.per_class if scores.recall is None}
    assert report.calibration == reliability(probabilities, labels)
    for figure in (report.accuracy, report.balanced_accuracy, report.macro_f1, report.majority_accuracy):
        assert 0 <= figure <= 1
    # A constant cannot beat 1 / (number of occurring classes) in balanced accuracy.
    if report.only_class is not None:
        occurring = C - len(report.missing)
        assert report.balanced_accuracy in (0, pytest.approx(1 / occurring))


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(2, 6))
def test_the_order_of_classes_does_not_matter(seed: int, n: int, C: int) -> None:
    probabilities, labels = outputs(seed, n, C)
    order = np.random.default_rng(seed).permutation(C)
    report, permuted = report_on(probabilities, labels), report_on(probabilities[:, order], np.argsort(order)[labels])
    np.testing.assert_array_equal(permuted.confusion, report.confusion[np.ix_(order, order)])
    assert permuted.macro_f1 == pytest.approx(report.macro_f1)
    assert permuted.log_loss == pytest.approx(report.log_loss)


def test_classes_without_nodes_count_in_the_macro_f1() -> None:
    perfect = np.eye(4)[[0, 1, 1]]
    report = report_on(perfect, np.array([0, 1, 1]))
    assert report.accuracy == report.balanced_accuracy == 1
    assert report.macro_f1 == 0.5
    assert report.missing == ("class 2", "class 3")
    assert report.only_class is None
    assert report.log_loss == 0
    assert report.calibration.error == 0


def test_one_class_predicted() -> None:
    report = report_on(np.array([[0.8, 0.2]] * 3), np.array([0, 1, 1]))
    assert report.only_class == "class 0"
    assert report.per_class[1].precision is None
    assert report.per_class[1].recall == 0
    assert report.balanced_accuracy == 0.5
    assert report.roc_auc == 0.5


def test_the_baseline_may_come_from_training_nodes() -> None:
    probabilities, labels = np.array([[0.8, 0.2]] * 4), np.array([0, 1, 1, 1])
    assert report_on(probabilities, labels).majority_class == "class 1"
    assert report_on(probabilities, labels).majority_accuracy == 0.75
    assert report_on(probabilities, labels, majority=0).majority_class == "class 0"
    assert report_on(probabilities, labels, majority=0).majority_accuracy == 0.25


@pytest.mark.parametrize("majority", [-1, 2, True, 0.0, "class 1"])
def test_a_majority_that_is_no_class(majority: int) -> None:
    with pytest.raises(ValueError, match="^majority must be a class index from 0 to 1, not .*: pass the most"):
        report_on(np.array([[0.8, 0.2]]), np.array([0]), majority)


def test_a_sure_mistake_leaves_the_log_loss_finite() -> None:
    report = report_on(np.array([[1.0, 0.0]]), np.array([1]))
    assert report.log_loss == pytest.approx(-np.log(2.0**-52))


def test_names_are_counted() -> None:
    with pytest.raises(ValueError, match="^class_names has 1 names for 2 classes"):
        classification_report([[0.8, 0.2]], [0], ["only"])


@given(st.integers(0, 2**32 - 1), st.integers(1, 10), st.integers(1, 5))
def test_the_dictionary_is_json(seed: int, n: int, C: int) -> None:
    report = report_on(*outputs(seed, n, C))
    stored = report.to_dict()
    assert json.loads(json.dumps(stored, allow_nan=False)) == stored
    assert stored["confusion"] == report.confusion.tolist()
    assert stored["per_class"][0]["name"] == "class 0"
    assert stored["calibration"] == report.calibration.to_dict()


def test_the_text_holds_the_figures() -> None:
    text = str(report_on(np.array([[0.8, 0.1, 0.1]] * 4), np.array([0, 1, 1, 1])))
    lines = {line.split("  ")[0]: line for line in text.split("\n")}
    assert lines["class 0"].split()[2:] == ["0.2500", "1.0000", "0.4000", "1", "4"]
    assert lines["class 2"].split()[2:] == ["-", "-", "0.0000", "0", "0"]
    assert lines["accuracy of always class 1"].endswith(" 0.7500")
    assert lines["ROC AUC"].endswith(" -")
    assert "No node is of class class 2." in lines
    assert "Every prediction is class 0." in lines
