from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from explanation.one_feature import COLUMNS, DECISIVE, NODES, TEST, TRAIN, fitted_on_planted, planted

from unifilter import NodeClassifier
from unifilter.estimators import TrainedModel
from unifilter.explanation import permutation_importance
from unifilter.explanation.permutation import _permuted


def mlp_model() -> TrainedModel:
    graph, x, y = planted(0)
    clf = NodeClassifier("mlp", features="raw", epochs=60, hidden_channels=16, lr=0.05, dropout=0.0, weight_decay=0.0)
    return clf.fit(graph, x, y, train=TRAIN).model_


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    return mlp_model()


def test_what_decides_is_missed_and_what_does_not_is_not(model: TrainedModel) -> None:
    graph, x, y = planted(0)
    found = permutation_importance(model, graph, x, y, TEST)
    assert found.features[DECISIVE] > 0.35  # of the half that can be lost to guessing
    assert (np.abs(np.delete(found.features, DECISIVE)) < 0.05).all()
    assert found.hops is None
    assert found.per_class_hops is None
    assert found.gap is None
    # Accuracy is the mean over the classes, each by its nodes.
    np.testing.assert_array_equal(found.class_nodes, [(y[TEST] == name).sum() for name in ("minus", "plus")])
    np.testing.assert_allclose(found.class_nodes @ found.per_class_features / len(TEST), found.features, atol=1e-12)
    assert repr(found) == "Importance('accuracy', nodes=200, features=6, classes=2)"
    assert found.to_dict()["hops"] is None
    assert found.top_features(1)[0][0] == f"feature {DECISIVE}"


def test_a_column_that_the_model_does_not_use_loses_nothing(model: TrainedModel) -> None:
    graph, x, y = planted(0)
    first = model.network.get_submodule("layers.0")
    kept = first.weight.detach().clone()
    try:
        with torch.no_grad():
            first.weight[:, 4] = 0
        found = permutation_importance(model, graph, x, y, TEST)
    finally:
        with torch.no_grad():
            first.weight.copy_(kept)
    assert found.features[4] == 0
    assert (found.per_class_features[:, 4] == 0).all()


def test_values_move_between_all_nodes() -> None:
    """Where neighbors decide, what counts is permuted among nodes that are not scored, too."""
    graph, x, y = planted(1)
    found = permutation_importance(fitted_on_planted(1).model_, graph, x, y, TEST[:50])
    assert found.features[DECISIVE] > 0.35
    assert found.features.argmax() == DECISIVE


def test_a_group_moves_together(model: TrainedModel) -> None:
    graph, x, y = planted(0)
    options: dict[str, Any] = {"groups": [0, 0, 1, 1, 2, 2], "names": ["first", "decides", "last"]}
    found = permutation_importance(model, graph, x, y, TEST, **options)
    assert found.names == ("first", "decides", "last")
    assert found.features.argmax() == 1
    # Mostly zeros, so that they are sparse.
    thin = sp.csr_array(np.where(np.abs(x) > 1.8, x, 0))
    assert permutation_importance(model, graph, thin, y, TEST, **options).features.argmax() == 1


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_other_columns_stay_where_they_are(form: Any) -> None:
    x = np.random.default_rng(0).integers(0, 3, (5, 4)).astype(float)
    order = np.array([3, 1, 4, 0, 2])
    found = _permuted(form(x), np.array([True, False, True, False]), order)
    expected = np.stack([x[order, 0], x[:, 1], x[order, 2], x[:, 3]], axis=1)
    np.testing.assert_array_equal(found.toarray() if sp.issparse(found) else found, expected)


def test_the_seed_is_all_that_chance_depends_on(model: TrainedModel) -> None:
    graph, x, y = planted(0)
    one, again, other = (permutation_importance(model, graph, x, y, TEST, seed=seed).features for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_labels_by_name_or_by_index(model: TrainedModel) -> None:
    graph, x, y = planted(0)
    indices = np.where(y == "plus", 1, 0)
    indices[TRAIN] = -1
    by_name = permutation_importance(model, graph, x, y, TEST)
    by_index = permutation_importance(model, graph, x, torch.from_numpy(indices), TEST)
    np.testing.assert_array_equal(by_name.features, by_index.features)
    with pytest.raises(ValueError, match="node 1000 is of class 7, but the model has 2 classes"):
        permutation_importance(model, graph, x, np.where(np.arange(NODES) == 1000, 7, indices), TEST)
    with pytest.raises(ValueError, match="node 0 is of class 'other', which is not a class of the training data"):
        permutation_importance(model, graph, x, np.where(np.arange(NODES) == 0, "other", y), TEST)
    with pytest.raises(ValueError, match="node 3 is in nodes, but its label or target is unknown"):
        permutation_importance(model, graph, x, indices, [3])


def test_a_class_without_nodes_has_no_number(model: TrainedModel) -> None:
    graph, x, y = planted(0)
    found = permutation_importance(model, graph, x, y, TEST[y[TEST] == "plus"], repeats=1)
    assert np.isnan(found.per_class_features[0]).all()
    assert np.isfinite(found.per_class_features[1]).all()
    assert found.to_dict()["classes"][0] == {"name": "minus", "nodes": 0, "hops": None, "features": []}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"max_columns": COLUMNS - 1},
            "there are 6 features, and permuting each takes 3 predictions of the whole graph: "
            "group columns that belong together, or pass max_columns=6",
        ),
        ({"max_columns": 0}, "max_columns must be a whole number of at least 1"),
        ({"repeats": 0}, "repeats must be a whole number of at least 1"),
        ({"groups": [0]}, "groups must be 6 integers from 0"),
        ({"nodes": []}, "nodes is empty: pass some nodes that have a class"),
    ],
)
def test_mistakes(model: TrainedModel, options: dict[str, Any], message: str) -> None:
    graph, x, y = planted(0)
    with pytest.raises(ValueError, match=message):
        permutation_importance(model, graph, x, y, **{"nodes": TEST, **options})
