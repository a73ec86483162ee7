"""Several labels per node, end to end."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from planted_targets import every_other, planted_labels
from sklearn.base import clone
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV, cross_val_score

from unifilter import NodeClassifier, UniFilterClassifier
from unifilter.graph import label_set_homophily

NODES = 200
TRAIN, TEST = every_other(NODES)
PLANTED = planted_labels()
NAMES = ["bright", "bright neighbors", "rare"]


def small(method: str = "unifilter", **settings: Any) -> NodeClassifier:
    wanted = {
        "unifilter": {"hops": 2, "hidden_channels": 16, "batch_norm": False, "dropout": 0.0, "basis_dropout": 0.0}
    }
    defaults = {"epochs": 5, "metric": "macro_f1", **wanted.get(method, {})}
    return NodeClassifier(method, **{**defaults, **settings})


@pytest.mark.parametrize("method", ["unifilter", "mlp", "sgc", "gprgnn", "gcn"])
def test_fit_predict_score_report_and_store(method: str, tmp_path: Path) -> None:
    graph, x, y = PLANTED
    clf = small(method).fit(graph, x, pd.DataFrame(y, columns=NAMES), train=TRAIN)
    predicted, probabilities = clf.predict(), clf.predict_proba()
    assert (predicted.shape, predicted.dtype) == ((NODES, 3), bool)
    np.testing.assert_array_equal(predicted, probabilities > 0.5)
    assert clf.classes_.tolist() == NAMES
    assert repr(clf.model_).endswith("features=5, labels=3)")
    expected = f1_score(y[TEST], predicted[TEST], average="macro", zero_division=0)
    assert clf.score(y, TEST) == pytest.approx(expected)
    report = clf.evaluate(y, TEST)
    assert report.macro_f1 == pytest.approx(expected)
    assert report.subset_accuracy == pytest.approx(accuracy_score(y[TEST], predicted[TEST]))
    assert [one.name for one in report.per_label] == NAMES
    clf.save(tmp_path / "model")
    loaded = NodeClassifier.load(tmp_path / "model")
    assert loaded.classes_.tolist() == NAMES
    np.testing.assert_array_equal(loaded.predict_proba(graph=graph, x=x), clf.predict_proba(graph=graph, x=x))
    np.testing.assert_allclose(loaded.predict_proba(graph=graph, x=x), probabilities, atol=1e-3)
    assert loaded.score(y, TEST, graph=graph, x=x) == pytest.approx(expected, abs=0.02)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict(), predicted)
    np.testing.assert_array_equal(clone(clf).fit(graph, x, y, train=TRAIN).predict(), predicted)


def test_labels_of_filtered_features_are_learned_with_the_graph_and_not_without() -> None:
    graph, x, y = planted_labels(400)
    train, test = every_other(400)
    options = {"epochs": 150, "lr": 0.02, "weight_decay": 5e-4, "features": "standard", "dropout": 0.0}
    with_graph = small(**options, monitor="loss").fit(graph, x, y, train=train).evaluate(y, test)
    alone = small("mlp", **options).fit(graph, x, y, train=train).evaluate(y, test)
    assert with_graph.roc_auc > 0.92 > 0.88 > alone.roc_auc
    assert with_graph.macro_f1 > alone.macro_f1 + 0.1


def test_unknown_labels_do_not_count() -> None:
    graph, x, y = PLANTED
    known = y.copy()
    known[::3, 1] = np.nan
    known[TEST] = np.nan
    expected = small("mlp").fit(graph, x, known)
    assert not np.isin(TEST, np.concatenate(expected._nodes)).any()
    for form in (torch.from_numpy(known), pd.DataFrame(known).astype("Float64"), known.tolist()):
        np.testing.assert_array_equal(small("mlp").fit(graph, x, form).predict_proba(), expected.predict_proba())
    columns = range(3)
    rows = ~np.isnan(known)
    by_hand = [f1_score(known[rows[:, j], j], expected.predict()[rows[:, j], j], zero_division=0) for j in columns]
    assert expected.score(known) == pytest.approx(np.mean(by_hand))
    assert expected.evaluate(known).complete == rows.all(axis=1).sum()


def test_booleans_and_whole_numbers_are_labels_too() -> None:
    graph, x, y = PLANTED
    expected = small("mlp").fit(graph, x, y).predict_proba()
    for form in (y.astype(bool), y.astype(int), torch.from_numpy(y).bool()):
        np.testing.assert_array_equal(small("mlp").fit(graph, x, form).predict_proba(), expected)


def test_one_column_is_one_class_per_node() -> None:
    graph, x, y = PLANTED
    clf = NodeClassifier("mlp", epochs=5).fit(graph, x, y[:, :1])
    assert clf.model_.task == "classification"
    assert clf.classes_.tolist() == [0, 1]


def test_homophily_is_that_of_label_sets_of_training_nodes() -> None:
    graph, x, y = PLANTED
    clf = UniFilterClassifier(hops=2, epochs=2).fit(graph, x, y, train=TRAIN)
    known = np.where(np.isin(np.arange(NODES), clf._nodes[0])[:, None], y, np.nan)
    assert clf.homophily_ == label_set_homophily(graph, known)


def test_a_graph_given_at_construction_works_with_scikit_learn() -> None:
    graph, x, y = PLANTED
    clf = small("sgc", graph=graph, x=x, hops=1, epochs=40)
    assert cross_val_score(clf, TRAIN, y[TRAIN], cv=3, error_score="raise").min() > 0.2
    search = GridSearchCV(clf, {"lr": [1e-5, 0.2]}, cv=2, error_score="raise").fit(TRAIN, y[TRAIN])
    assert search.best_params_ == {"lr": 0.2}
    assert search.predict(TEST).shape == (len(TEST), 3)


@pytest.mark.parametrize(
    ("y", "settings", "message"),
    [
        (
            PLANTED.y + 1,
            {},
            "y has 2 at node .: several labels per node must be 1, 0, or NaN .* use a regressor, UniFilterReg",
        ),
        (PLANTED.y[:50], {}, r"y must have one row per node, 200 in all, but has shape \[50, 3\]"),
        (
            np.where(PLANTED.y == 1, "yes", "no"),
            {},
            "which is not a finite number: several labels per node must be 1, 0, or",
        ),
        (PLANTED.y, {"class_weight": "balanced"}, "class_weight needs one class per node: pass sample_weight if"),
        (
            PLANTED.y,
            {"metric": "balanced_accuracy"},
            "metric must be one of 'macro_f1', 'micro_f1', 'accuracy', 'roc_auc'",
        ),
        (np.full((NODES, 2), np.nan), {}, "train must contain at least two nodes whose target is known"),
        (
            PLANTED.y * [1, 1, np.nan],
            {},
            "'target 2' is unknown at every training node: leave it out, or train on nodes",
        ),
    ],
)
def test_mistakes_are_named(y: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small("mlp", **settings).fit(PLANTED.graph, PLANTED.x, y)


def test_other_labels_than_those_learned_are_no_score() -> None:
    graph, x, y = PLANTED
    clf = small("mlp").fit(graph, x, y)
    for other in (y[:, 0], y[:, :2]):
        with pytest.raises(ValueError, match=r"y must have one column per label, shape \[200, 3\]: pass 0, 1 or NaN"):
            clf.score(other)
