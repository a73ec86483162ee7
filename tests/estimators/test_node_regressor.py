"""Numbers: fit, predict, score, report, store, and use with scikit-learn."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from planted_targets import every_other, planted_numbers
from sklearn.base import clone, is_regressor
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error
from sklearn.model_selection import GridSearchCV, cross_val_score
from torch_geometric.data import Data

from unifilter import NodeClassifier, NodeRegressor, UniFilterClassifier, UniFilterRegressor
from unifilter.graph import value_homophily
from unifilter.methods.uni_filter import UniFilterMethod

NODES = 200
TRAIN, TEST = every_other(NODES)
METHODS = ("unifilter", "mlp", "sgc", "gprgnn", "gcn", "chebnetii")
LOW, HIGH = planted_numbers(sign=1), planted_numbers(sign=-1)


def small(method: str = "unifilter", **settings: Any) -> NodeRegressor:
    """Quick."""
    sizes = {"unifilter": {"hops": 3, "hidden_channels": 16}, "mlp": {}, "gcn": {}}.get(method, {"hops": 2})
    return NodeRegressor(method, **{"epochs": 5, **sizes, **settings})


@pytest.mark.parametrize("method", METHODS)
def test_fit_predict_score_report_and_store(method: str, tmp_path: Path) -> None:
    graph, x, y = LOW
    reg = small(method).fit(graph, x, y, train=TRAIN)
    predicted = reg.predict()
    assert (predicted.shape, predicted.dtype) == ((NODES,), np.float64)
    np.testing.assert_array_equal(reg.predict([7, 3]), predicted[[7, 3]])
    assert reg.score(y, TEST) == pytest.approx(r2_score(y[TEST], predicted[TEST]))
    report = reg.evaluate(y, TEST)
    assert report.r2 == pytest.approx(r2_score(y[TEST], predicted[TEST]))
    assert report.rmse == pytest.approx(root_mean_squared_error(y[TEST], predicted[TEST]))
    assert report.mae == pytest.approx(mean_absolute_error(y[TEST], predicted[TEST]))
    # The baseline is the mean of the nodes that were trained on, not of those that it is compared on.
    learned, _ = reg._nodes
    assert report.per_target[0].baseline == pytest.approx(y[learned].mean())
    reg.save(tmp_path / "model")
    loaded = NodeRegressor.load(tmp_path / "model")
    assert loaded.get_params() == reg.get_params()
    np.testing.assert_array_equal(loaded.predict(graph=graph, x=x), reg.predict(graph=graph, x=x))
    np.testing.assert_allclose(loaded.predict(graph=graph, x=x), predicted, rtol=1e-3)
    assert loaded.score(y, TEST, graph=graph, x=x) == pytest.approx(reg.score(y, TEST), abs=1e-3)
    np.testing.assert_array_equal(loaded.predict_interval(graph=graph, x=x), reg.predict_interval(graph=graph, x=x))
    again = pickle.loads(pickle.dumps(reg))
    np.testing.assert_array_equal(again.predict(), predicted)
    np.testing.assert_array_equal(clone(reg).fit(graph, x, y, train=TRAIN).predict(), predicted)


@pytest.mark.parametrize(("planted", "is_low"), [(LOW, True), (HIGH, False)], ids=["low-pass", "high-pass"])
def test_a_filtered_signal_is_learned_with_the_graph_and_not_without(planted: Any, is_low: bool) -> None:
    graph, x, y = planted
    reg = UniFilterRegressor(hops=3, epochs=150, hidden_channels=32).fit(graph, x, y, train=TRAIN)
    alone = NodeRegressor("mlp", epochs=150).fit(graph, x, y, train=TRAIN)
    assert reg.score(y, TEST) > 0.9
    assert alone.score(y, TEST) < 0.65
    # Neighbors are alike in what is low-pass, and the learned filter is one.
    assert (reg.homophily_ > 0.5) == is_low
    low, high = np.abs(reg.filter_response([0.1, 1.9])[:, 0])
    assert (low > high) == is_low
    learned, _ = reg._nodes
    known = np.where(np.isin(np.arange(NODES), learned), y, np.nan)
    assert reg.homophily_ == value_homophily(graph, known)


def test_the_unit_of_the_target_does_not_matter() -> None:
    graph, x, y = LOW
    first = small(dtype="float64").fit(graph, x, y, train=TRAIN).predict()
    other = small(dtype="float64").fit(graph, x, 1e6 * y - 3e7, train=TRAIN).predict()
    np.testing.assert_allclose(other, 1e6 * first - 3e7, rtol=1e-6)


def test_the_parameters_of_unifilter_have_the_defaults_of_regression() -> None:
    parameters = inspect.signature(UniFilterRegressor).parameters
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    assert defaults == UniFilterRegressor().get_params()
    assert (defaults["metric"], defaults["features"], defaults["dropout"]) == ("r2", "standard", 0.0)
    assert "class_weight" not in parameters
    assert set(inspect.signature(UniFilterClassifier).parameters) == {*parameters, "class_weight"}
    for name in UniFilterMethod().settings():
        assert name in parameters
        assert name in UniFilterRegressor.__doc__
    assert len(UniFilterRegressor().build_method().candidates()) == 1
    assert NodeRegressor("unifilter").get_params() == {"method": "unifilter", **UniFilterRegressor().get_params()}
    assert repr(UniFilterRegressor(hops=4)) == "UniFilterRegressor(hops=4)"
    assert is_regressor(UniFilterRegressor())
    with pytest.raises(
        ValueError, match=r'UniFilterRegressor has no parameter \'method\': use NodeRegressor\(method="'
    ):
        UniFilterRegressor(method="mlp")


def test_another_method_has_the_defaults_of_regression_too() -> None:
    reg = NodeRegressor("unifilter", lr=0.3).set_params(method="mlp")
    assert (reg.metric, reg.features, reg.dropout, reg.lr) == ("r2", "standard", 0.0, 0.3)


def test_several_targets_with_unknown_entries(tmp_path: Path) -> None:
    graph, x, y = LOW
    both = np.stack([y, -3 * y + 7], axis=1)
    both[::5, 1] = np.nan
    both[9] = np.nan  # of this node nothing is known
    reg = small(epochs=100, hops=3).fit(graph, x, pd.DataFrame(both, columns=["price", "cost"]))
    assert 9 not in np.concatenate(reg._nodes)
    predicted = reg.predict()
    assert predicted.shape == (NODES, 2)
    assert reg.model_.classes.tolist() == ["price", "cost"]
    assert repr(reg.model_) == "TrainedModel(method='unifilter', features=5, targets=2)"
    known = ~np.isnan(both)
    expected = np.mean([r2_score(both[known[:, j], j], predicted[known[:, j], j]) for j in range(2)])
    assert reg.score(both) == pytest.approx(expected)
    assert expected > 0.8
    report = reg.evaluate(both)
    assert [one.name for one in report.per_target] == ["price", "cost"]
    assert report.r2 == pytest.approx(expected)
    reg.save(tmp_path / "model")
    loaded = NodeRegressor.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict(graph=graph, x=x), predicted, rtol=1e-3, atol=1e-2)
    with pytest.raises(ValueError, match="intervals need a single target, but there are 2: fit a regressor for each"):
        reg.predict_interval()
    with pytest.raises(ValueError, match=r"y must have one number per target, shape \[200, 2\]: pass all of them"):
        reg.score(y)


def test_targets_in_every_form_are_the_same() -> None:
    graph, x, y = LOW
    expected = small("mlp").fit(graph, x, y).predict()
    forms = [
        y.tolist(),
        y[:, None],
        torch.from_numpy(y),
        torch.from_numpy(y)[:, None],
        pd.Series(y),
        pd.DataFrame({"y": y}),
    ]
    for form in forms:
        np.testing.assert_array_equal(small("mlp").fit(graph, x, form).predict(), expected)
    assert small("mlp").fit(graph, x, pd.Series(y, name="price")).model_.classes.tolist() == ["price"]
    data = Data(torch.from_numpy(x).float(), graph.edges()[0], y=torch.from_numpy(y))
    data.train_mask = torch.isin(torch.arange(NODES), torch.from_numpy(TRAIN))
    data.test_mask = ~data.train_mask
    reg = small("mlp").fit(data)
    assert reg.score(data) == pytest.approx(r2_score(y[TEST], reg.predict(TEST)))


def test_unknown_targets_are_not_learned_from() -> None:
    graph, x, y = LOW
    known = np.where(np.isin(np.arange(NODES), TRAIN), y, np.nan)
    expected = small("mlp").fit(graph, x, y, train=TRAIN)
    for missing in (known, [None if np.isnan(one) else one for one in known], pd.array(known, dtype="Float64")):
        reg = small("mlp").fit(graph, x, missing)
        np.testing.assert_array_equal(reg.predict(), expected.predict())
        assert reg.score(missing) == pytest.approx(expected.score(y, TRAIN))


def test_a_graph_given_at_construction_works_with_scikit_learn() -> None:
    graph, x, y = LOW
    reg = UniFilterRegressor(graph=graph, x=x, hops=2, hidden_channels=16, epochs=60)
    scores = cross_val_score(reg, TRAIN, y[TRAIN], cv=3, error_score="raise")
    assert scores.min() > 0.6
    errors = cross_val_score(reg, TRAIN, y[TRAIN], cv=3, scoring="neg_mean_absolute_error", error_score="raise")
    assert errors.max() < 0
    assert (errors > -np.abs(y - y.mean()).mean()).all()
    search = GridSearchCV(reg, {"hops": [1, 2], "metric": ["r2", "neg_mae"]}, cv=2, error_score="raise")
    search.fit(TRAIN[:, None], y[TRAIN][:, None])
    assert search.best_params_["hops"] == 2  # what was planted
    assert search.predict(TEST).shape == (len(TEST),)
    assert search.best_estimator_.score(TEST, y[TEST]) > 0.6
    assert search.best_estimator_.evaluate(TEST, y[TEST]).nodes == len(TEST)
    both = np.stack([y, -y], axis=1)
    assert cross_val_score(reg, TRAIN, both[TRAIN], cv=2, error_score="raise").min() > 0.5


def test_sweep_keeps_the_best() -> None:
    graph, x, y = LOW
    reg = small(epochs=60).fit(graph, x, y, train=TRAIN)
    rows = reg.sweep(hops=[1, 3])
    assert reg.hops == max(rows, key=lambda row: row.val_score).settings["hops"]
    assert reg.history_.best_score == max(row.val_score for row in rows)


def test_weights_of_zero_leave_nodes_out() -> None:
    graph, x, y = LOW
    train, val = TRAIN[:80], TRAIN[80:]
    wrong = y.copy()
    wrong[train[::4]] += 1e3
    good = np.where(wrong == y, 1.0, 0.0)
    weighted = small(epochs=100).fit(graph, x, wrong, train, val, sample_weight=good)
    counted = small(epochs=100).fit(graph, x, wrong, train, val)
    assert weighted.score(y, TEST) > 0.7 > 0.3 > counted.score(y, TEST)
    assert weighted.model_.target_center == pytest.approx(y[train][good[train] > 0].mean())
    assert weighted.model_.target_scale == pytest.approx(y[train][good[train] > 0].std())


def test_metrics_are_those_of_numbers() -> None:
    graph, x, y = LOW
    reg = small("mlp", metric="neg_mae").fit(graph, x, y)
    assert reg.score(y) == pytest.approx(-mean_absolute_error(y, reg.predict()))
    with pytest.raises(ValueError, match="metric must be one of 'r2', 'neg_rmse', 'neg_mae', not 'macro_f1'"):
        small("mlp", metric="macro_f1").fit(graph, x, y)


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (["a"] * NODES, {}, "y has 'a' at node 0, which is not a finite number: pass numbers, .* use a classifier"),
        ([1.0, np.inf] * (NODES // 2), {}, "y has inf at node 1, which is not a finite number"),
        (LOW.y[:-1], {}, r"y must have one row per node, 200 in all, but has shape \[199, 1\]"),
        ([2.5] * NODES, {}, "'target 0' is 2.5 at every training node that counts: a regressor needs values"),
        (
            [np.nan] * NODES,
            {},
            "too few training nodes: train must contain at least two nodes whose target is known",
        ),
        ([1.0, np.nan] * (NODES // 2), {"train": [0, 1]}, "node 1 is in train, but its label or target is unknown"),
        (
            [1.0, 2.0] * (NODES // 2),
            {"val": [0]},
            "r2 needs targets that vary, but these 1 nodes all have",
        ),
        (None, {}, "fit needs the features x and the targets y"),
    ],
)
def test_mistakes_are_named(y: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small("mlp").fit(LOW.graph, LOW.x, y, **options)


def test_what_classifiers_have_is_refused(tmp_path: Path) -> None:
    graph, x, y = LOW
    reg = small("mlp").fit(graph, x, y)
    assert not hasattr(reg, "predict_proba")
    with pytest.raises(
        ValueError, match="a regressor predicts numbers and has no probabilities: use predict or predict_i"
    ):
        reg.model_.probabilities(reg._logits_)
    with pytest.raises(ValueError, match="mlp has no setting 'class_weight'"):
        NodeRegressor("mlp", class_weight="balanced")
    with pytest.raises(ValueError, match="asgc is for classification, not for regression: choose another method"):
        NodeRegressor("asgc").fit(graph, x, y)
    reg.save(tmp_path / "numbers")
    small_classifier = NodeClassifier("mlp", epochs=2).fit(graph, x, (y > 50).astype(int))
    small_classifier.save(tmp_path / "classes")
    for cls in (NodeClassifier, UniFilterClassifier):
        with pytest.raises(ValueError, match=r"numbers contains a regressor: load it with NodeRegressor.load"):
            cls.load(tmp_path / "numbers")
    with pytest.raises(ValueError, match=r"classes contains a classifier: load it with NodeClassifier.load"):
        NodeRegressor.load(tmp_path / "classes")
    with pytest.raises(ValueError, match=r"a model of the method 'mlp': load it with NodeRegressor.load"):
        UniFilterRegressor.load(tmp_path / "numbers")


@pytest.mark.parametrize(
    "y", [LOW.y, torch.from_numpy(LOW.y), LOW.y.round(1).tolist(), np.random.default_rng(0).permutation(NODES)]
)
def test_a_classifier_that_is_given_numbers_names_the_regressor(y: Any) -> None:
    with pytest.raises(ValueError, match="To predict numbers use a regressor, UniFilterRegressor or NodeRegressor"):
        NodeClassifier("mlp").fit(LOW.graph, LOW.x, y)
