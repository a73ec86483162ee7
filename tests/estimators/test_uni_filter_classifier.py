from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from small_estimator import SMALL, refit, refit_on

from unifilter import UniFilterClassifier
from unifilter.data import DataWarning, NodeDataset
from unifilter.methods.uni_filter import UniFilterMethod


def nodes_of(clf: UniFilterClassifier) -> tuple[np.ndarray, np.ndarray]:
    """The nodes that it learned from, and those that it stopped by."""
    assert clf._nodes is not None
    return clf._nodes


def test_parameters_clone_and_set(data: NodeDataset, fitted: UniFilterClassifier) -> None:
    clf = UniFilterClassifier(tau=0.3, hops=4)
    assert clf.get_params()["tau"] == 0.3
    other = clone(clf.set_params(tau="learn", dropout=0.1))
    assert other is not clf
    assert other.get_params() == clf.get_params()
    check_is_fitted(fitted)
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(fitted))


def test_the_estimator_has_every_setting_of_the_method_and_the_same_defaults() -> None:
    params = UniFilterClassifier().get_params()
    for name, value in UniFilterMethod().settings().items():
        assert params[name] == value, name


def test_it_learns_and_scores(data: NodeDataset) -> None:
    clf = refit(data, epochs=60)
    probabilities = clf.predict_proba()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    assert (clf.predict() == probabilities.argmax(axis=1)).all()
    accuracy = (clf.predict() == data.labels.numpy()).mean()
    assert clf.score(data.labels) == pytest.approx(accuracy)
    assert accuracy > 0.7  # a third by chance
    assert clf.weights_.shape == (4,)
    assert (clf.n_features_in_, clf.tau_) == (6, clf.homophily_)
    assert 0 < clf.homophily_ < 1
    assert clf.history_.epochs <= 60
    mask = np.arange(60) < 5
    np.testing.assert_array_equal(clf.predict([4, 2]), clf.predict()[[4, 2]])
    np.testing.assert_array_equal(clf.predict(mask), clf.predict()[:5])
    assert len(clf.predict([])) == 0


def test_the_same_seed_gives_the_same_weights_and_another_others(data: NodeDataset) -> None:
    first, second, other = refit(data), refit(data), refit(data, seed=1)
    for name, value in first.model_.network.state_dict().items():
        assert torch.equal(value, second.model_.network.state_dict()[name])
    assert np.array_equal(first.weights_, second.weights_)
    assert not np.array_equal(first.predict_proba(), other.predict_proba())


def test_weights_a_user_changes_are_not_the_model_s(data: NodeDataset) -> None:
    clf = refit(data)
    before = clf.predict_proba()
    clf.weights_[:] = 100
    np.testing.assert_array_equal(clf.predict_proba(), before)


# Labels and nodes


def test_string_labels_some_of_them_unknown(data: NodeDataset) -> None:
    names = np.array(["ape", "bee", "cat"], dtype=object)[data.labels.numpy()]
    names[:4] = [None, float("nan"), -1, None]
    clf = UniFilterClassifier(**SMALL).fit(data.graph, data.features, list(names))
    assert clf.classes_.tolist() == ["ape", "bee", "cat"]
    assert set(clf.predict()) <= {"ape", "bee", "cat"}
    assert clf.score(list(names)) == pytest.approx(np.mean(clf.predict()[4:] == names[4:]))
    assert sorted(np.concatenate(nodes_of(clf))) == list(range(4, 60))
    # Integers and their names are the same problem.
    indices = np.where(np.arange(60) < 4, -1, data.labels)
    np.testing.assert_array_equal(
        refit_on(data, indices).predict_proba(), clf.predict_proba(), "names change what is learned"
    )


def test_a_share_of_each_class_is_held_out(data: NodeDataset) -> None:
    clf = refit(data, validation_fraction=0.25)
    train, val = nodes_of(clf)
    assert not set(train) & set(val)
    assert np.bincount(data.labels[val]).tolist() == [5, 5, 5]  # of 20 each
    assert len(train) + len(val) == 60
    other = refit(data, validation_fraction=0.25, seed=1)
    assert set(nodes_of(other)[1]) != set(val)


def test_without_train_all_labeled_nodes_that_are_not_in_val(data: NodeDataset) -> None:
    clf = refit_on(data, data.labels, val=range(20))
    assert nodes_of(clf)[0].tolist() == list(range(20, 60))


def test_a_class_that_is_not_validated_is_named(data: NodeDataset) -> None:
    nodes = np.arange(60)
    val = nodes[:20][data.labels.numpy()[:20] != 1]
    with pytest.warns(DataWarning, match="^val has no node of class 1: the validation score, .* says nothing about it"):
        refit_on(data, data.labels, train=nodes[20:], val=val)


def test_a_pyg_data_with_masks_and_with_masks_of_many_splits(data: NodeDataset, fitted: UniFilterClassifier) -> None:
    pyg = data.to_data("60")
    split = data.split("60", 3)
    assert pyg.train_mask.ndim == 2
    with pytest.raises(
        ValueError, match=r"train_mask has shape \[60, 10\], one column per split: select one, for example data\.train"
    ):
        UniFilterClassifier(**SMALL).fit(pyg)
    picked = UniFilterClassifier(**SMALL).fit(pyg, train=pyg.train_mask[:, 3], val=pyg.val_mask[:, 3])
    pyg.train_mask, pyg.val_mask = pyg.train_mask[:, 3], pyg.val_mask[:, 3]
    clf = UniFilterClassifier(**SMALL).fit(pyg)
    assert [nodes.tolist() for nodes in nodes_of(clf)] == [sorted(split.train), sorted(split.val)]
    plain = refit_on(data, data.labels, train=split.train, val=split.val)
    np.testing.assert_array_equal(clf.predict_proba(), plain.predict_proba())
    np.testing.assert_array_equal(clf.predict_proba(), picked.predict_proba())
    # It predicts on such objects too.
    np.testing.assert_array_equal(
        fitted.predict_proba(graph=pyg), fitted.predict_proba(graph=data.graph, x=data.features)
    )


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ({"train": []}, "there are no training nodes: train must contain some nodes that have a class"),
        ({"train": [], "val": [1, 2]}, "there are no training nodes"),
        ({"train": [3, 4], "val": []}, "val is empty: pass some nodes, or leave val out to hold out a share of train"),
        ({"train": [3, 4, 5], "val": [5, 4]}, r"node 4 is in both train and val \(2 such nodes in all\)"),
        (
            {"train": [0, 3, 4]},
            r"node 0 is in train, but its label or target is unknown \(1 such nodes in all\): leave it out",
        ),
        ({"train": [3, 4], "val": [0]}, "node 0 is in val, but its label or target is unknown"),
        ({"train": [3, 60]}, "train names node 60, which does not exist"),
        ({"train": [3, 4, 5]}, "no training node can be held out for validation, every class has only one: pass val"),
        ({"train": [3, 6]}, "all 2 training nodes are of class 'a': a classifier needs nodes of at least two classes"),
        ({"train": [3, 6], "val": [4]}, "all 2 training nodes are of class 'a'"),
    ],
)
def test_nodes_that_cannot_be_learned_from(data: NodeDataset, nodes: dict[str, Any], message: str) -> None:
    labels: list[Any] = list("abc" * 20)
    labels[0] = None
    with pytest.raises(ValueError, match=message):
        refit_on(data, labels, **nodes)


def test_bad_input_to_fit(data: NodeDataset) -> None:
    clf = UniFilterClassifier(**SMALL)
    pyg = data.to_data()
    pyg.x = None
    for arguments in ((pyg,), (data.graph,), (data.graph, data.features)):
        with pytest.raises(ValueError, match=r"fit needs the features x and the targets y: fit\(graph, x, y"):
            clf.fit(*arguments)
    with pytest.raises(
        ValueError, match=r"a graph must be a Graph, a PyG Data, .*, not list: build one with Graph\.from"
    ):
        clf.fit([(0, 1), (1, 2)], np.eye(3), [0, 1, 0])
    with pytest.raises(ValueError, match="features have 59 rows but the graph has 60 nodes"):
        clf.fit(data.graph, data.features[:59], data.labels)
    with pytest.raises(ValueError, match=r"validation_fraction must lie in \[0, 1\]"):
        refit(data, validation_fraction=2)


def test_bad_input_to_predict_and_score(data: NodeDataset, fitted: UniFilterClassifier) -> None:
    unfitted = UniFilterClassifier()
    for call in (unfitted.predict, unfitted.predict_proba, unfitted.sweep):
        with pytest.raises(NotFittedError, match="is not fitted yet: call fit first, or load a model"):
            call()
    with pytest.raises(NotFittedError):
        unfitted.score(data.labels)
    with pytest.raises(NotFittedError):
        unfitted.save("model.unifilter")
    with pytest.raises(ValueError, match="graph and x belong together: pass both"):
        fitted.predict(graph=data.graph)
    with pytest.raises(ValueError, match="pass both"):
        fitted.predict(x=data.features)
    with pytest.raises(ValueError, match="x has 5 feature columns, but the model was trained on 6"):
        fitted.predict(graph=data.graph, x=data.features[:, :5])
    with pytest.raises(ValueError, match="a graph must be a Graph, a PyG Data, .*, not str"):
        fitted.predict(graph="cora")
    with pytest.raises(ValueError, match="nodes names node 99, which does not exist"):
        fitted.predict([99])
    with pytest.raises(ValueError, match="there is nothing to score: pass nodes"):
        fitted.score(np.full(60, -1))
    with pytest.raises(ValueError, match="node 2 is in nodes, but its label or target is unknown"):
        fitted.score(np.where(np.arange(60) == 2, -1, data.labels), nodes=[1, 2])
    with pytest.raises(ValueError, match="node 0 is of class 7, which is not a class .*: the classes are 0, 1, 2"):
        fitted.score(np.full(60, 7))
