"""Probabilities that mean what they say, and sets and intervals that hold the truth as often as they promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from planted_targets import every_other, planted_labels, planted_numbers

from unifilter import NodeClassifier, NodeRegressor
from unifilter.data import NodeDataset
from unifilter.datasets.synthetic import contextual_sbm
from unifilter.estimators.calibration import Calibration, calibrate
from unifilter.evaluation import interval_halfwidth, prediction_sets, reliability
from unifilter.training import Classification, MultiLabel, Regression


@pytest.fixture(scope="module")
def noisy() -> NodeDataset:
    """Thirty features for three classes that overlap: a model without weight decay overfits."""
    return contextual_sbm(600, num_classes=3, homophily=0.6, average_degree=4, num_features=30, signal=1.0)


def overconfident(data: NodeDataset, **settings: Any) -> NodeClassifier:
    clf = NodeClassifier("sgc", **{"epochs": 300, "features": "raw", "weight_decay": 0.0, **settings})
    return clf.fit(data.graph, data.features, data.labels, train=range(150), val=range(150, 300))


@given(st.integers(0, 999), st.floats(0.05, 20))
def test_no_temperature_changes_the_most_probable_class(seed: int, temperature: float) -> None:
    logits = torch.from_numpy(np.random.default_rng(seed).standard_normal((20, 4)) * 5)
    calibration = Calibration(temperature)
    found = calibration.probabilities(logits)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_array_equal(found.argmax(axis=1), logits.argmax(dim=1))
    labels = calibration.probabilities(logits, "multilabel")
    np.testing.assert_array_equal(labels > 0.5, logits > 0)
    assert calibration.probabilities(logits.float()).dtype == np.float32
    np.testing.assert_allclose(Calibration().probabilities(logits), torch.softmax(logits, dim=1))


def test_an_overconfident_model_is_calibrated_on_nodes_it_never_saw(noisy: NodeDataset) -> None:
    clf, test = overconfident(noisy), np.arange(300, 600)
    labels = noisy.labels.numpy()[test]
    before = torch.softmax(clf._logits_[test], dim=1).numpy()
    after = clf.predict_proba(test)
    assert clf.model_.calibration.temperature > 2
    np.testing.assert_array_equal(before.argmax(axis=1), after.argmax(axis=1))
    np.testing.assert_array_equal(clf.predict(test), after.argmax(axis=1))
    assert reliability(before, labels).error > 0.15
    assert reliability(after, labels).error < 0.1


@pytest.mark.parametrize("method", ["sgc", "mlp", "gprgnn"])
def test_a_model_that_is_calibrated_stays_so(noisy: NodeDataset, method: str) -> None:
    clf, test = NodeClassifier(method, epochs=60), np.arange(400, 600)
    clf.fit(noisy.graph, noisy.features, noisy.labels, train=range(200), val=range(200, 400))
    labels = noisy.labels.numpy()[test]
    before = torch.softmax(clf._logits_[test], dim=1).numpy()
    assert reliability(clf.predict_proba(test), labels).error < reliability(before, labels).error + 0.05


def test_probabilities_are_calibrated_in_reports_and_files_too(noisy: NodeDataset, tmp_path: Path) -> None:
    clf, test = overconfident(noisy), np.arange(300, 600)
    labels = noisy.labels.numpy()
    assert clf.evaluate(labels, test).calibration == reliability(clf.predict_proba(test), labels[test])
    clf.save(tmp_path / "model")
    loaded = NodeClassifier.load(tmp_path / "model")
    assert loaded.model_.calibration.temperature == clf.model_.calibration.temperature
    np.testing.assert_array_equal(loaded.model_.calibration.scores, clf.model_.calibration.scores)
    elsewhere = {"graph": noisy.graph, "x": noisy.features}
    np.testing.assert_array_equal(loaded.predict_proba(**elsewhere), clf.predict_proba(**elsewhere))
    assert loaded.predict_set(0.1, **elsewhere) == clf.predict_set(0.1, **elsewhere)


def test_sets_are_those_of_the_scores_the_most_probable_class_first(noisy: NodeDataset) -> None:
    clf = overconfident(noisy)
    clf.fit(noisy.graph, noisy.features, np.array(["a", "b", "c"])[noisy.labels], train=range(150), val=range(150, 300))
    probabilities, scores = clf.predict_proba(), clf.model_.calibration.scores
    assert len(scores) == 150
    assert (np.diff(scores) >= 0).all()
    inside = prediction_sets(probabilities, scores, 0.1)
    found = clf.predict_set(0.1)
    for node in range(600):
        ranked = [clf.classes_[one] for one in np.argsort(-probabilities[node]) if inside[node, one]]
        assert list(found[node]) == ranked
        assert found[node][0] == clf.predict([node])[0]
    assert clf.predict_set(0.1, [5, 2]) == [found[5], found[2]]
    # The surer one wants to be, the larger the set.
    assert all(set(few) <= set(many) for few, many in zip(found, clf.predict_set(0.01), strict=True))


def test_sets_hold_the_true_class_as_often_as_they_promise(noisy: NodeDataset) -> None:
    alpha, runs, labels = 0.2, 40, noisy.labels.numpy()
    clf, covered, sizes = NodeClassifier("sgc", epochs=15, features="raw"), [], []
    for seed in range(runs):
        order = np.random.default_rng(seed).permutation(600)
        train, val, test = np.split(order, [200, 280])
        clf.fit(noisy.graph, noisy.features, labels, train=train, val=val)
        sets = clf.predict_set(alpha, test)
        covered.append(np.mean([labels[node] in found for node, found in zip(test, sets, strict=True)]))
        sizes.append(np.mean([len(found) for found in sets]))
    error = np.std(covered) / np.sqrt(runs)
    assert error < 0.02
    assert np.mean(covered) > 1 - alpha - 3 * error
    # Not by naming all classes. The most probable class is always in, so there may be a little more than promised.
    assert np.mean(covered) < 1 - alpha + 0.05
    assert np.mean(sizes) < 2


def test_intervals_hold_the_true_number_as_often_as_they_promise() -> None:
    graph, x, y = planted_numbers(600, noise=10)
    alpha, runs, covered = 0.2, 40, []
    reg = NodeRegressor("sgc", epochs=15, features="raw")
    for seed in range(runs):
        order = np.random.default_rng(seed).permutation(600)
        train, val, test = np.split(order, [200, 280])
        low, high = reg.fit(graph, x, y, train=train, val=val).predict_interval(alpha, test).T
        covered.append(((low <= y[test]) & (y[test] <= high)).mean())
    error = np.std(covered) / np.sqrt(runs)
    assert error < 0.02
    # Between 1 - alpha and 1 / (m + 1) more, for m validation nodes.
    assert 1 - alpha - 3 * error < np.mean(covered) < 1 - alpha + 1 / 81 + 3 * error


def test_intervals_are_around_the_prediction(tmp_path: Path) -> None:
    graph, x, y = planted_numbers()
    train, test = every_other(200)
    reg = NodeRegressor("sgc").fit(graph, x, y, train=train, val=test)
    low, high = reg.predict_interval(0.1).T
    np.testing.assert_allclose((low + high) / 2, reg.predict())
    width = interval_halfwidth(y[test] - reg.predict(test), 0.1)
    np.testing.assert_allclose(high - low, 2 * width)
    few = NodeRegressor("sgc").fit(graph, x, y, train=train, val=test[:4]).predict_interval(0.1, [3])
    assert few.tolist() == [[-np.inf, np.inf]]
    with pytest.raises(ValueError, match="alpha must lie between 0 and 1, not 1.5"):
        reg.predict_interval(1.5)


def test_validation_nodes_that_were_learned_from_calibrate_nothing(noisy: NodeDataset, tmp_path: Path) -> None:
    options = {"hops": 2, "ridge": 0.1, "features": "raw"}
    clf = NodeClassifier("asgc", refit=True, **options).fit(noisy.graph, noisy.features, noisy.labels)
    assert clf.model_.calibration.temperature == 1
    assert len(clf.model_.calibration.scores) == 0
    clf.save(tmp_path / "model")
    loaded, elsewhere = NodeClassifier.load(tmp_path / "model"), {"graph": noisy.graph, "x": noisy.features}
    message = "the model was refitted on its validation nodes, so .* cannot be calibrated: fit it with refit=False"
    for one, where in ((clf, {}), (loaded, elsewhere)):
        assert np.isfinite(one.predict_proba(**where)).all()
        with pytest.raises(ValueError, match=message):
            one.predict_set(**where)
    plain = NodeClassifier("asgc", refit=False, **options).fit(noisy.graph, noisy.features, noisy.labels)
    assert len(plain.predict_set()) == 600


def test_labels_have_a_temperature_and_no_sets() -> None:
    graph, x, y = planted_labels()
    clf = NodeClassifier("sgc", epochs=100).fit(graph, x, y)
    assert clf.model_.calibration.temperature != 1
    np.testing.assert_allclose(
        clf.predict_proba(), torch.sigmoid(clf._logits_ / clf.model_.calibration.temperature), rtol=1e-5
    )
    with pytest.raises(
        ValueError, match="predict_set needs one class per node, but this model has several labels: use"
    ):
        clf.predict_set()


def test_weights_count_in_the_temperature() -> None:
    random = np.random.default_rng(0)
    logits, labels = torch.from_numpy(random.standard_normal((60, 2)) * 4), torch.from_numpy(random.integers(0, 2, 60))
    counts, every = torch.from_numpy(random.integers(0, 2, 60)), np.arange(60)
    left = np.flatnonzero(counts)
    expected = calibrate(Classification(labels, 2), logits, left).temperature
    # A weight of 0 leaves a node out, and the unit of weights does not matter.
    for unit in (1.0, 1e-6, 1e6):
        weighted = calibrate(Classification(labels, 2, unit * counts.double()), logits, every)
        assert weighted.temperature == pytest.approx(expected)
    # Sets promise something of nodes, each of which counts once.
    assert len(weighted.scores) == 60


def test_unknown_targets_calibrate_nothing() -> None:
    logits = torch.tensor([[1.0, -2.0], [3.0, 0.5], [-1.0, 0.5]]).double()
    targets = torch.tensor([[1.0, 0.0], [0.0, torch.nan], [1.0, 1.0]]).double()
    known = calibrate(MultiLabel(targets), logits, np.arange(3))
    other = logits.clone()
    other[1, 1] = 1e3
    assert calibrate(MultiLabel(targets), other, np.arange(3)).temperature == known.temperature
    several = calibrate(Regression(targets, torch.zeros(2), torch.ones(2)), logits, np.arange(3))
    assert (several.temperature, len(several.scores)) == (1.0, 0)


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.25, 0.5])
def test_of_very_many_scores_some_are_kept_and_no_set_becomes_smaller(alpha: float) -> None:
    errors = np.random.default_rng(0).exponential(size=12_345)
    task = Regression(torch.from_numpy(errors)[:, None], torch.zeros(1).double(), torch.ones(1).double())
    kept = calibrate(task, torch.zeros(len(errors), 1), np.arange(len(errors))).scores
    assert len(kept) == 5000
    assert np.isin(kept, errors).all()
    exact = interval_halfwidth(errors, alpha)
    assert exact <= interval_halfwidth(kept, alpha) < 1.01 * exact
