"""How much classes and nodes count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from planted_targets import Planted, random_graph
from sklearn.base import clone
from sklearn.utils.class_weight import compute_class_weight

from unifilter import NodeClassifier, UniFilterClassifier
from unifilter.data import balanced_weights

NODES = 1240
TRAIN, TEST = np.split(np.arange(NODES), 2)


def rare_class(seed: int = 0) -> Planted:
    """One node in 31 is "rare"; its features differ by one and a half deviations."""
    random = np.random.default_rng(seed)
    rare = np.arange(NODES) % 31 == 0
    x = random.standard_normal((NODES, 4))
    x[:, 0] += 1.5 * rare
    return Planted(random_graph(NODES, random), x, np.where(rare, "rare", "usual"))


RARE = rare_class()


def fitted(class_weight: Any = None, method: str = "mlp", planted: Planted = RARE, **options: Any) -> NodeClassifier:
    settings = {"mlp": {"epochs": 60, "dropout": 0.0}, "sgc": {"epochs": 60, "hops": 1}}.get(
        method, {"hops": 1, "ridge": 0.1}
    )
    clf = NodeClassifier(method, class_weight=class_weight, features="raw", **settings)
    return clf.fit(*planted, train=TRAIN, **options)


def recall(clf: NodeClassifier, name: str, y: np.ndarray = RARE.y) -> float:
    return float((clf.predict(TEST)[y[TEST] == name] == name).mean())


@pytest.mark.filterwarnings("ignore:It predicts 'usual'")
@pytest.mark.parametrize("seed", range(3))
def test_balanced_weights_find_a_rare_class(seed: int) -> None:
    planted = rare_class(seed)
    plain, balanced = fitted(planted=planted), fitted("balanced", planted=planted)
    assert recall(plain, "rare") < 0.2
    assert recall(balanced, "rare") > 0.5
    assert recall(balanced, "usual") > 0.6


@pytest.mark.parametrize("method", ["mlp", "sgc", "asgc"])
def test_balanced_weights_are_weights_of_nodes(method: str) -> None:
    # Where nothing is learned the class is not rare: that must not count.
    other = np.where(np.arange(NODES) % 2, "rare", "usual")
    planted = RARE._replace(y=np.where(np.isin(np.arange(NODES), TRAIN), RARE.y, other))
    balanced = fitted("balanced", method, planted)
    learned = planted.y[balanced._nodes[0]]
    classes = np.unique(learned)
    per_class = dict(zip(classes.tolist(), compute_class_weight("balanced", classes=classes, y=learned), strict=True))
    of_nodes = np.array([per_class[name] for name in planted.y])
    expected = balanced.predict_proba()
    for class_weight, sample_weight in ((per_class, None), (None, of_nodes), (None, torch.from_numpy(of_nodes))):
        same = fitted(class_weight, method, planted, sample_weight=sample_weight)
        np.testing.assert_array_equal(same.predict_proba(), expected)
    assert not np.array_equal(fitted(None, method, planted).predict_proba(), expected)


@pytest.mark.parametrize("method", ["mlp", "sgc"])
def test_weights_of_classes_and_nodes_multiply_and_their_unit_does_not_matter(method: str) -> None:
    ones = fitted("balanced", method).predict_proba()
    for unit in (3.0, 1e-6):
        other = fitted("balanced", method, sample_weight=np.full(NODES, unit)).predict_proba()
        np.testing.assert_allclose(other, ones, atol=1e-3)


def test_classes_that_are_not_named_count_once() -> None:
    of_nodes = np.where(RARE.y == "rare", 5.0, 1.0)
    np.testing.assert_array_equal(fitted({"rare": 5}).predict_proba(), fitted(sample_weight=of_nodes).predict_proba())


def test_balanced_weights_by_hand() -> None:
    labels = np.array([0, 0, 0, 1, 3, 3])
    found = balanced_weights(labels, 5)
    expected = compute_class_weight("balanced", classes=np.array([0, 1, 3]), y=labels)
    np.testing.assert_allclose(found[[0, 1, 3]], expected)
    assert (found[[2, 4]] == found[1]).all()  # as one that has one node
    assert found[labels].sum() == pytest.approx(len(labels))


def test_a_batch_without_weight_is_left_out() -> None:
    clf = NodeClassifier("mlp", epochs=3, batch_size=8, class_weight={"usual": 0.0}, features="raw")
    clf.fit(*RARE, train=TRAIN)
    assert clf.history_.ended == "epochs"
    assert np.isfinite(clf.history_.loss).all()


def test_weights_come_with_the_nodes_where_the_graph_was_given_before() -> None:
    weights = np.random.default_rng(0).uniform(0, 2, NODES)
    expected = fitted(sample_weight=weights)
    clf = NodeClassifier("mlp", graph=RARE.graph, x=RARE.x, epochs=60, dropout=0.0, features="raw")
    clf.fit(TRAIN, RARE.y[TRAIN], sample_weight=weights[TRAIN])
    np.testing.assert_array_equal(clf.predict_proba(), expected.predict_proba())
    with pytest.raises(ValueError, match=r"sample_weight must have one number per node, shape \[620\], not \[1240\]"):
        clf.fit(TRAIN, RARE.y[TRAIN], sample_weight=weights)


def test_a_sweep_weighs_as_the_fit_did() -> None:
    clf = fitted("balanced", "sgc")
    expected = clf.predict_proba()
    clf.sweep(hops=[1])
    np.testing.assert_array_equal(clf.predict_proba(), expected)


def test_it_is_a_parameter_like_any_other() -> None:
    clf = UniFilterClassifier(class_weight={"a": 2.0})
    assert clone(clf).get_params()["class_weight"] == {"a": 2.0}
    assert clf.set_params(class_weight="balanced").class_weight == "balanced"
    assert NodeClassifier("mlp", class_weight="balanced").set_params(method="sgc").class_weight == "balanced"


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("equal", "class_weight must be one of 'balanced', not 'equal'"),
        (3, "class_weight must be one of 'balanced', not 3"),
        ({"rar": 2.0}, "class_weight contains 'rar', which is not a class: the classes are 'rare', 'usual'"),
        ({"rare": -1.0}, "class_weight gives 'rare' the weight -1.0: pass a finite, non-negative number"),
        ({"rare": np.nan}, "class_weight gives 'rare' the weight nan"),
        ({"rare": "2"}, "class_weight gives 'rare' the weight '2'"),
        ({"rare": 0, "usual": 0}, "every training node has the weight 0: give some of them a positive one"),
    ],
)
def test_mistakes_in_class_weights_are_named(class_weight: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fitted(class_weight)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), r"sample_weight must have one number per node, shape \[1240\], not \[3\]"),
        (np.ones((NODES, 1)), r"sample_weight must have one number per node, shape \[1240\], not \[1240, 1\]"),
        (
            np.where(np.arange(NODES) == 7, -1.0, 1.0),
            "sample_weight of node 7 is -1.0: weights must be finite and not negative",
        ),
        (np.where(np.arange(NODES) > 8, np.nan, 1.0), "sample_weight of node 9 is nan"),
        (np.zeros(NODES), "every training node has the weight 0"),
        (["a"] * NODES, "sample_weight must be numbers, one per node, not <U1"),
    ],
)
def test_mistakes_in_weights_of_nodes_are_named(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fitted(sample_weight=weights)
