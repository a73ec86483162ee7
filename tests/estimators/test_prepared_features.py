"""Standardized arrays and DataFrames, from fit to a new graph."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from planted_targets import every_other, random_graph
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from unifilter import Graph, NodeClassifier, NodeRegressor
from unifilter.data import DataWarning, Table

NODES = 120
TRAIN, TEST = every_other(NODES)
METHODS = ("unifilter", "mlp", "gprgnn", "sgc")
KINDS = np.array(["bank", "fund", "shop"])


def small(method: str = "mlp", **settings: Any) -> NodeClassifier:
    sizes = {"unifilter": {"hops": 2, "hidden_channels": 8, "dropout": 0.0, "batch_norm": False, "lr": 0.02}}
    return NodeClassifier(method, **{"epochs": 20, **sizes.get(method, {}), **settings})


def planted(seed: int = 0) -> tuple[Graph, pd.DataFrame, np.ndarray]:
    """A number, a date and a category, each of which tells something of two classes."""
    random = np.random.default_rng(seed)
    labels = np.arange(NODES) // 2 % 2
    frame = pd.DataFrame(
        {
            "income": 5e4 + 2e4 * labels + 1e4 * random.standard_normal(NODES),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, NODES), unit="D"),
            "kind": KINDS[(random.random(NODES) < 0.3) + labels],
        }
    )
    frame.loc[::11, "income"] = np.nan
    return random_graph(NODES, random), frame, np.where(labels == 1, "good", "bad")


GRAPH, FRAME, Y = planted()
OTHER_GRAPH, OTHER_FRAME, OTHER_Y = planted(1)
# Columns of very different sizes: without scaling the first drowns the others.
X = np.random.default_rng(0).standard_normal((NODES, 4)) * [1e4, 1, 1, 1e-3] + [1e6, 0, 0, 0]
X[:, 1] += 3 * (Y == "good")


def fitted(x: Any = FRAME, method: str = "mlp", **settings: Any) -> NodeClassifier:
    return small(method, **settings).fit(GRAPH, x, Y, train=TRAIN)


@pytest.mark.parametrize("method", METHODS)
def test_standard_scaling_is_that_of_the_training_nodes(method: str, tmp_path: Path) -> None:
    clf = fitted(X, method, features="standard")
    learned, _ = clf._nodes
    scaler = StandardScaler().fit(X[learned])
    by_hand = fitted(scaler.transform(X), method, features="raw")
    np.testing.assert_allclose(clf.predict_proba(), by_hand.predict_proba(), atol=1e-3)
    clf.save(tmp_path / "model")
    loaded = NodeClassifier.load(tmp_path / "model")
    # A new graph is scaled by the statistics of the training nodes, not by its own.
    new = {"graph": OTHER_GRAPH, "x": X[::-1] + 5}
    expected = by_hand.predict_proba(graph=OTHER_GRAPH, x=scaler.transform(new["x"]))
    for one in (clf, loaded, pickle.loads(pickle.dumps(clf))):
        np.testing.assert_allclose(one.predict_proba(**new), expected, atol=1e-3)
    # One node alone is scaled as it was among the others.
    graph = Graph.from_edges(np.zeros((2, 0), dtype=np.int64), num_nodes=1)
    alone = loaded.model_.prepare(X[7:8])
    np.testing.assert_array_equal(alone, loaded.model_.prepare(X)[7:8])
    assert loaded.predict(graph=graph, x=X[7:8]).shape == (1,)


def test_standard_scaling_helps_where_scales_differ_and_a_warning_says_so() -> None:
    assert fitted(X, features="standard", epochs=100).score(Y, TEST) > 0.8
    message = '^the standard deviations of the feature columns differ by a factor of .* use features="standard"'
    for scaling in ("raw", "row"):
        with pytest.warns(DataWarning, match=message):
            assert fitted(X, features=scaling, epochs=100).score(Y, TEST) < 0.7


def test_sparse_features_stay_sparse() -> None:
    random = np.random.default_rng(0)
    words = sp.csr_array(np.where(random.random((NODES, 40)) < 0.05, random.uniform(1, 9, (NODES, 40)), 0.0))
    clf = fitted(words, "gprgnn", features="standard")
    assert clf.model_.preparation.center is None
    assert clf.model_.prepare(words).layout == torch.sparse_csr
    np.testing.assert_allclose(
        clf.predict_proba(graph=GRAPH, x=words.toarray()), clf.predict_proba(graph=GRAPH, x=words), atol=1e-6
    )


def test_a_refit_on_other_nodes_has_statistics_of_its_own() -> None:
    clf = small(features="standard")
    clf.fit(GRAPH, X, Y, train=TRAIN)
    first = clf.model_.preparation.center.copy()
    clf.fit(GRAPH, X, Y, train=TEST)
    again = small(features="standard").fit(GRAPH, X, Y, train=TEST)
    assert not np.array_equal(clf.model_.preparation.center, first)
    np.testing.assert_array_equal(clf.model_.preparation.center, again.model_.preparation.center)
    np.testing.assert_array_equal(clf.predict_proba(), again.predict_proba())


def test_cross_validation_sees_no_statistics_of_other_folds() -> None:
    wild = X.copy()
    wild[TEST] = 1e9  # nodes that are in no fold
    clf, other = (small(features="standard", graph=GRAPH, x=x, epochs=30) for x in (X, wild))
    scores = cross_val_score(clf, TRAIN, Y[TRAIN], cv=3, error_score="raise")
    np.testing.assert_array_equal(scores, cross_val_score(other, TRAIN, Y[TRAIN], cv=3, error_score="raise"))


@pytest.mark.parametrize("method", METHODS)
def test_a_frame_from_fit_to_a_new_graph(method: str, tmp_path: Path) -> None:
    clf = fitted(FRAME, method, epochs=60)
    assert clf.feature_names_in_.tolist() == ["income", "since", "kind"]
    assert clf.n_features_in_ == 3
    assert clf.score(Y, TEST) > 0.6
    clf.save(tmp_path / "model")
    loaded = NodeClassifier.load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == clf.feature_names_in_.tolist()
    assert loaded.n_features_in_ == 3
    new = {"graph": OTHER_GRAPH, "x": OTHER_FRAME}
    expected = clf.predict_proba(**new)
    for one in (loaded, pickle.loads(pickle.dumps(clf))):
        np.testing.assert_array_equal(one.predict_proba(**new), expected)
    # Columns are matched by name, and a table is as good as its frame.
    np.testing.assert_array_equal(
        loaded.predict_proba(graph=OTHER_GRAPH, x=OTHER_FRAME[["kind", "income", "since"]]), expected
    )
    np.testing.assert_array_equal(loaded.predict_proba(graph=OTHER_GRAPH, x=Table.from_frame(OTHER_FRAME)), expected)
    np.testing.assert_allclose(loaded.predict_proba(graph=GRAPH, x=FRAME), clf.predict_proba(), atol=1e-3)
    assert loaded.score(OTHER_Y, **new) > 0.6


def test_the_order_of_the_columns_in_training_does_not_matter_to_what_is_predicted() -> None:
    clf = fitted()
    turned = FRAME[["since", "kind", "income"]]
    np.testing.assert_array_equal(clf.predict_proba(graph=GRAPH, x=turned), clf.predict_proba(graph=GRAPH, x=FRAME))


def test_statistics_are_those_of_training_rows() -> None:
    clf = fitted()
    learned, _ = clf._nodes
    others = np.setdiff1d(np.arange(NODES), learned)
    changed = FRAME.copy()
    changed.loc[others, "income"] = 1e9
    changed.loc[others, "kind"] = "unheard of"
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)  # what training rows lack is no surprise in their own table
        other = fitted(changed)
    assert other.model_.preparation.to_dict() == clf.model_.preparation.to_dict()


def test_a_renamed_category_warns_and_changes_the_prediction() -> None:
    clf = fitted(epochs=60)
    renamed = FRAME.replace({"kind": {"bank": "Bank"}})
    with pytest.warns(DataWarning, match=r"column 'kind': \d+ of 120 rows have a value that does not occur in"):
        found = clf.predict_proba(graph=GRAPH, x=renamed)
    expected = clf.predict_proba(graph=GRAPH, x=FRAME)
    unchanged = (FRAME["kind"] != "bank").to_numpy()
    np.testing.assert_array_equal(found[unchanged], expected[unchanged])  # an MLP looks at no neighbor
    assert not np.isclose(found[~unchanged], expected[~unchanged]).any()


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (FRAME.drop(columns="kind"), "x lacks the column 'kind', which training had"),
        (FRAME.assign(size=1), "x has the column 'size', which training did not have: drop or rename"),
        (FRAME.rename(columns={"kind": "sort"}), "(?s)x lacks the column 'kind'.*x has the column 'sort'"),
        (FRAME.assign(income="much"), "column 'income'"),
        (X[:, :3], "the model was trained on a table with the columns 'income', 'since', 'kind', but x is a ndarray"),
    ],
)
def test_frames_that_do_not_fit_are_refused(x: Any, message: str) -> None:
    clf = fitted()
    with pytest.raises(ValueError, match=message):
        clf.predict(graph=GRAPH, x=x)


def test_a_frame_for_a_model_of_arrays_is_refused() -> None:
    with pytest.raises(ValueError, match="the model was trained on an array, but x is a table: pass an array"):
        fitted(X, features="standard").predict(graph=GRAPH, x=FRAME)


@pytest.mark.parametrize("x", [FRAME, X], ids=["frame", "array"])
def test_double_precision_is_kept(x: Any, tmp_path: Path) -> None:
    clf = fitted(x, dtype="float64", features="standard")
    assert clf.predict_proba().dtype == np.float64
    clf.save(tmp_path / "model")
    loaded = NodeClassifier.load(tmp_path / "model")
    assert loaded.model_.prepare(x).dtype == torch.float64
    np.testing.assert_allclose(loaded.predict_proba(graph=GRAPH, x=x), clf.predict_proba(), rtol=1e-9)


def test_a_refit_on_another_table_with_the_same_features_learns_its_names() -> None:
    # Standardized and one-hot, the two are the same numbers.
    clf = fitted()
    other = FRAME.rename(columns={"income": "salary"}).assign(kind=FRAME["kind"].str.upper())
    other["salary"] *= 3
    clf.fit(GRAPH, other, Y, train=TRAIN)
    assert clf.feature_names_in_.tolist() == ["salary", "since", "kind"]
    fresh = fitted(other)
    np.testing.assert_array_equal(clf.predict(graph=GRAPH, x=other), fresh.predict(graph=GRAPH, x=other))
    assert clf.model_.preparation.to_dict() == fresh.model_.preparation.to_dict()
    # Back to an array there are no names.
    clf.set_params(features="standard").fit(GRAPH, X, Y, train=TRAIN)
    assert clf.n_features_in_ == 4
    assert not hasattr(clf, "feature_names_in_")


def test_a_refit_on_the_same_table_factors_it_once(factorizations: list[int]) -> None:
    clf = small("unifilter", basis_dropout=0.0, weight_decay=0.0)
    for seed in range(3):
        clf.set_params(seed=seed).fit(GRAPH, FRAME, Y, train=TRAIN, val=TEST)
    assert len(factorizations) == 1
    clf.fit(GRAPH, FRAME, Y, train=TEST, val=TRAIN)
    assert len(factorizations) == 2


def test_frames_work_with_scikit_learn_and_regressors() -> None:
    clf = small("sgc", graph=GRAPH, x=FRAME, epochs=40)
    assert cross_val_score(clone(clf), TRAIN, Y[TRAIN], cv=3, error_score="raise").mean() > 0.55
    reg = NodeRegressor("mlp", epochs=60).fit(GRAPH, FRAME, FRAME["income"].fillna(5e4) / 7, train=TRAIN)
    assert reg.feature_names_in_.tolist() == ["income", "since", "kind"]
    assert reg.score(FRAME["income"].fillna(5e4) / 7, TEST) > 0.8


def test_an_edge_list_has_as_many_nodes_as_its_table() -> None:
    edges = np.array([[0, 1, 2], [1, 2, 3]])
    for x in (FRAME, Table.from_frame(FRAME)):
        assert small(epochs=2).fit(edges, x, Y).data_.num_nodes == NODES
