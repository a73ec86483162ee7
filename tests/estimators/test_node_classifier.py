"""What NodeClassifier promises for every method, and its two ways of use: with the graph, and with node indices."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from planted import CLASSES, planted_problem
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.validation import check_is_fitted
from torch_geometric.data import Data

from unifilter import Graph, NodeClassifier, UniFilterClassifier
from unifilter.datasets import load_dataset
from unifilter.estimators import TrainedModel
from unifilter.methods import METHODS
from unifilter.methods.sgc import SGCMethod

# Small and quick, where a method has the setting.
SMALL: dict[str, Any] = {"epochs": 3, "hops": 2, "hidden_channels": 8, "ridge": 0.1}
NAMES = np.array(["ape", "bee", "cat"])

every_method = pytest.mark.parametrize("name", METHODS)


@pytest.fixture(autouse=True)
def cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNIFILTER_CACHE", str(tmp_path / "cache"))


@cache
def planted() -> tuple[Graph, torch.Tensor, np.ndarray]:
    """A graph whose last node is isolated, features that are kept sparse, and classes."""
    dataset = planted_problem().dataset
    edges, _ = dataset.graph.edges()
    edges = edges[:, (edges != 47).all(dim=0)]
    features = torch.cat([dataset.features, torch.eye(48)], dim=1)
    return Graph.from_edges(edges, num_nodes=48), features, NAMES[dataset.labels.numpy()]


def small(name: str, **settings: Any) -> NodeClassifier:
    known = [field.name for field in dataclasses.fields(METHODS[name])]
    return NodeClassifier(name, **{key: value for key, value in SMALL.items() if key in known} | settings)


@cache
def fitted(name: str) -> NodeClassifier:
    """Not to be changed by a test."""
    return small(name).fit(*planted())


def same_params(left: NodeClassifier, right: NodeClassifier) -> bool:
    return left.get_params() == right.get_params()


# Every method


@every_method
def test_it_predicts_the_classes_it_was_given(name: str) -> None:
    clf, (graph, x, y) = fitted(name), planted()
    probabilities = clf.predict_proba()
    assert probabilities.shape == (48, CLASSES)
    assert probabilities.dtype == np.float32
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    assert clf.classes_.tolist() == NAMES.tolist()
    np.testing.assert_array_equal(clf.predict(), NAMES[probabilities.argmax(axis=1)])
    np.testing.assert_array_equal(clf.predict([40, 3]), clf.predict()[[40, 3]])
    assert clf.score(y) == pytest.approx(np.mean(clf.predict() == y))
    # What was learned, applied to the same graph once more.
    np.testing.assert_allclose(clf.predict_proba(graph=graph, x=x), probabilities, rtol=0, atol=1e-4)
    assert clf.data_ is not None
    assert (clf.n_features_in_, clf.data_.num_nodes, clf.model_.method.name) == (60, 48, name)


@every_method
def test_a_loaded_model_predicts_the_same(name: str, tmp_path: Path) -> None:
    clf, (graph, x, _) = fitted(name), planted()
    clf.save(tmp_path / "model")
    loaded = NodeClassifier.load(tmp_path / "model")
    expected = clf.predict_proba(graph=graph, x=x)
    np.testing.assert_array_equal(loaded.predict_proba(graph=graph, x=x), expected)
    np.testing.assert_array_equal(loaded.predict([5], graph=graph, x=x), clf.predict([5], graph=graph, x=x))
    assert same_params(loaded, clf)
    assert (loaded.chosen_, loaded.tau_, loaded.homophily_) == (clf.chosen_, clf.tau_, clf.homophily_)
    lam = torch.linspace(0, 2, 5)
    responses = [one.model_.response(lam) for one in (clf, loaded)]
    assert (responses[0] is None) == (responses[1] is None)
    if responses[0] is not None:
        assert torch.equal(*responses)


@every_method
def test_a_clone_has_the_parameters_and_nothing_that_was_learned(name: str) -> None:
    clf = fitted(name)
    other = clone(clf)
    assert same_params(other, clf)
    check_is_fitted(clf)
    with pytest.raises(NotFittedError, match="this NodeClassifier is not fitted yet: call fit first, or load a model"):
        other.predict()
    assert [attribute for attribute in vars(other) if attribute.endswith("_")] == []


@every_method
def test_parameters_are_read_and_set_by_name(name: str) -> None:
    clf = small(name, seed=7, dtype="float64", validation_fraction=0.4)
    params = clf.get_params()
    assert params["method"] == name
    assert (params["seed"], params["dtype"], params["validation_fraction"]) == (7, "float64", 0.4)
    assert set(METHODS[name]().settings()) < set(params)
    assert NodeClassifier(name).set_params(**params).get_params() == params
    assert NodeClassifier(**params).get_params() == params
    assert clf.build_method().settings().items() <= params.items()


@every_method
def test_copies_of_every_kind_predict_the_same(name: str, tmp_path: Path) -> None:
    clf, (graph, x, y) = fitted(name), planted()
    joblib.dump(clf, tmp_path / "clf")
    expected = clf.predict_proba(), clf.predict_proba(graph=graph, x=x)
    for other in (pickle.loads(pickle.dumps(clf)), joblib.load(tmp_path / "clf"), copy.deepcopy(clf)):
        np.testing.assert_array_equal(other.predict_proba(), expected[0])
        np.testing.assert_array_equal(other.predict_proba(graph=graph, x=x), expected[1])
        assert same_params(other, clf)
    # What was copied can be fitted, which leaves the one it is a copy of alone.
    other.fit(graph, x, y[::-1])
    np.testing.assert_array_equal(clf.predict_proba(), expected[0])


def test_a_learned_basis_can_be_copied() -> None:
    clf = small("unifilter", tau="learn", theta="learn").fit(*planted())
    for other in (pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)):
        np.testing.assert_array_equal(other.predict_proba(), clf.predict_proba())
        assert (other.tau_, other.homophily_) == (clf.tau_, clf.homophily_)


@every_method
def test_double_precision_stays_double(name: str, tmp_path: Path) -> None:
    graph, x, y = planted()
    clf = small(name, dtype="float64").fit(graph, x, y)
    clf.save(tmp_path / "model")
    loaded = NodeClassifier.load(tmp_path / "model")
    assert clf.predict_proba().dtype == np.float64
    for one in (clf, loaded):
        tensors = [*one.model_.network.parameters(), *one.model_.network.buffers()]
        assert {tensor.dtype for tensor in tensors if tensor.is_floating_point()} == {torch.float64}
        assert one.predict_proba(graph=graph, x=x).dtype == np.float64
    np.testing.assert_array_equal(loaded.predict_proba(graph=graph, x=x), clf.predict_proba(graph=graph, x=x))
    # The two ways to the same number agree to what double precision can hold; eigenvectors are kept in single.
    close = 1e-4 if name == "specformer" else 1e-10
    np.testing.assert_allclose(clf.predict_proba(graph=graph, x=x), clf.predict_proba(), rtol=0, atol=close)
    assert loaded.dtype == "float64"


# Methods and settings


def test_unknown_methods_and_settings_are_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="there is no method 'unifilters': choose one of unifilter, homfilter, "):
        NodeClassifier("unifilters")
    with pytest.raises(
        ValueError,
        match="sgc has no setting 'tau': it has features, epochs, .*, hops, .*; the estimator has class_weight, ",
    ):
        NodeClassifier("sgc", tau=0.5)
    clf = NodeClassifier("sgc")
    with pytest.raises(ValueError, match="sgc has no setting 'depth'"):
        clf.set_params(depth=3)
    for refused in (UniFilterClassifier, UniFilterClassifier().set_params):
        with pytest.raises(ValueError, match="UniFilterClassifier has no parameter 'method': use NodeClassifier"):
            refused(method="sgc")
    with pytest.raises(ValueError, match="the setting hops of sgc must be a whole number, not 'two'"):
        NodeClassifier("sgc", hops="two").fit(*planted())
    with pytest.raises(ValueError, match="dtype must be one of 'float32', 'float64', not 'float16'"):
        NodeClassifier("sgc", dtype="float16").fit(*planted())


def test_another_method_keeps_what_was_changed_and_has_its_own_defaults() -> None:
    clf = NodeClassifier("sgc", hops=4, verbose=True).set_params(method="bernnet")
    expected = NodeClassifier("bernnet", hops=4, verbose=True)
    assert clf.get_params() == expected.get_params()
    assert clf.set_params(method="gprgnn", alpha=0.3).get_params()["alpha"] == 0.3
    assert clone(clf).get_params() == clf.get_params()


def test_a_change_of_method_that_fails_changes_nothing() -> None:
    clf = NodeClassifier("sgc", window=5)
    before = clf.get_params()
    with pytest.raises(ValueError, match="there is no method 'unifilters'"):
        clf.set_params(method="unifilters")
    assert clf.get_params() == before
    with pytest.raises(ValueError, match="bernnet has no setting 'nothing'"):
        clf.set_params(method="bernnet", nothing=1)
    assert clf.get_params() == before
    # What was changed is kept, so the other method must have it.
    with pytest.raises(ValueError, match="unifilter has no setting 'window'"):
        clf.set_params(method="unifilter")
    assert clf.get_params() == before


def test_a_method_is_given_by_name_as_a_class_or_with_its_settings() -> None:
    by_name = NodeClassifier("sgc", hops=3).fit(*planted())
    for method in (SGCMethod(hops=3), SGCMethod):
        settings = {} if isinstance(method, SGCMethod) else {"hops": 3}
        clf = clone(NodeClassifier(method, **settings)).fit(*planted())
        np.testing.assert_array_equal(clf.predict_proba(), by_name.predict_proba())


def test_a_sweep_takes_any_setting_and_factors_once_for_all_hops(factorizations: list[int]) -> None:
    clf = small("sgc").fit(*planted())
    assert factorizations == [2]
    rows = clf.sweep(hops=[1, 4, 3], lr=[0.1, 0.2])
    assert factorizations == [2, 4]
    assert [row.settings for row in rows] == [{"hops": hops, "lr": lr} for hops in (1, 4, 3) for lr in (0.1, 0.2)]
    best = max(rows, key=lambda row: row.val_score)
    assert {"hops": clf.hops, "lr": clf.lr} == best.settings
    again = small("sgc").set_params(**best.settings).fit(*planted())
    np.testing.assert_array_equal(clf.predict_proba(), again.predict_proba())
    assert (rows[0].epochs, clf.history_.best_score) == (3, best.val_score)
    with pytest.raises(ValueError, match="sgc has no setting 'tau'"):
        clf.sweep(tau=[0.5])
    with pytest.raises(ValueError, match="there is nothing to try"):
        clf.sweep()


# Graphs of every form


def test_a_graph_comes_in_any_form() -> None:
    graph, x, y = planted()
    edges, _ = graph.edges()
    network = nx.Graph()
    network.add_nodes_from(range(48))
    network.add_edges_from(edges.T.tolist())
    both = torch.cat([edges, edges.flip(0)], dim=1)
    adjacency = graph.adjacency().to_dense().numpy()
    expected = fitted("gprgnn").predict_proba()
    elsewhere = fitted("gprgnn").predict_proba(graph=graph, x=x)
    # The last node has no edge: an edge list does not know of it, the features do.
    for form in (network, sp.csr_array(adjacency), adjacency, both, edges.numpy()):
        clf = small("gprgnn").fit(form, x, y)
        np.testing.assert_array_equal(clf.predict_proba(), expected)
        np.testing.assert_array_equal(clf.predict_proba(graph=form, x=x), elsewhere)
        assert clf.score(y, graph=form, x=x) == pytest.approx(np.mean(elsewhere.argmax(axis=1) == np.arange(48) % 3))


def test_features_come_dense_and_sparse_of_every_library() -> None:
    graph, x, y = planted()
    expected = fitted("sgc").predict_proba()
    for form in (x.numpy(), x.double(), sp.coo_array(x.numpy()), x.to_sparse_coo(), x.numpy().tolist()):
        clf = small("sgc").fit(graph, form, y)
        np.testing.assert_array_equal(clf.predict_proba(), expected)


def test_a_pyg_data_brings_everything() -> None:
    graph, x, y = planted()
    edges, _ = graph.edges()
    labels = torch.from_numpy(np.searchsorted(NAMES, y))
    order = torch.randperm(48, generator=torch.Generator().manual_seed(0))
    masks = {part: torch.zeros(48, dtype=torch.bool) for part in ("train", "val", "test")}
    for mask, nodes in zip(masks.values(), order.split([24, 12, 12]), strict=True):
        mask[nodes] = True
    data = Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], dim=1), y=labels)
    data.train_mask, data.val_mask, data.test_mask = masks.values()
    clf = small("bernnet").fit(data)
    plain = small("bernnet").fit(graph, x, labels, train=masks["train"], val=masks["val"])
    np.testing.assert_array_equal(clf.predict_proba(), plain.predict_proba())
    np.testing.assert_array_equal(clf.predict_proba(data), clf.predict_proba(graph=graph, x=x))
    np.testing.assert_array_equal(clf.predict(data), clf.predict(graph=graph, x=x))
    right = clf.predict(data) == labels.numpy()
    # The test nodes where there is a mask, all of them where there is none.
    assert clf.score(data) == pytest.approx(right[masks["test"].numpy()].mean())
    assert clf.score(data, masks["val"]) == pytest.approx(right[masks["val"].numpy()].mean())
    del data.test_mask
    assert clf.score(data) == pytest.approx(right.mean())
    assert clf.data_ is not None
    assert torch.equal(clf.data_.labels, labels)


def test_features_without_a_graph_and_a_graph_without_features_are_refused() -> None:
    graph, x, y = planted()
    with pytest.raises(ValueError, match="graph and x belong together: pass both"):
        fitted("sgc").predict(x=x)
    with pytest.raises(ValueError, match=r"fit needs the features x and the targets y: fit\(graph, x, y"):
        small("sgc").fit(graph, x)
    with pytest.raises(ValueError, match="node 3 is of class 'dog', which is not a class of the training data"):
        fitted("sgc").score(np.where(np.arange(48) == 3, "dog", y))


# Node indices, as scikit-learn passes them


def on_nodes(name: str, **settings: Any) -> NodeClassifier:
    graph, x, _ = planted()
    # A graph of its own: what clones share is kept there.
    return small(name, graph=pickle.loads(pickle.dumps(graph)), x=x, **settings)


def test_nodes_and_their_classes_are_the_same_problem() -> None:
    graph, x, y = planted()
    nodes = np.array([40, 3, 8, 17, 22, 31, 6, 13, 2, 45])
    expected = small("bernnet").fit(graph, x, y, train=nodes)
    clf = on_nodes("bernnet").fit(nodes, y[nodes])
    np.testing.assert_array_equal(clf.predict_proba(), expected.predict_proba())
    np.testing.assert_array_equal(clf.predict(nodes), expected.predict(nodes))
    np.testing.assert_array_equal(clf.predict(nodes[:, None]), expected.predict(nodes))
    assert clf.score(nodes, y[nodes]) == pytest.approx(expected.score(y, nodes))
    # No other class was seen.
    assert clf.data_ is not None
    assert (clf.data_.labels >= 0).nonzero().flatten().tolist() == sorted(nodes)
    with pytest.raises(ValueError, match="the graph was passed to the constructor, so fit takes nodes and their targ"):
        clf.fit(nodes)
    with pytest.raises(ValueError, match=r"y must have one value per node, shape \[10\], not \[48\]"):
        clf.fit(nodes, y)


def test_all_folds_and_candidates_of_a_search_share_one_factorization(factorizations: list[int]) -> None:
    _, _, y = planted()
    nodes = np.arange(48)
    search = GridSearchCV(on_nodes("unifilter", lr=0.05), {"tau": [0.2, 0.9], "weights": ["hop", "channel"]}, cv=3)
    search.fit(nodes, y)
    assert factorizations == [2]
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert len(search.cv_results_["params"]) == 4
    best = search.best_estimator_
    assert best.get_params().items() >= search.best_params_.items()
    np.testing.assert_array_equal(search.predict([1, 2]), best.predict([1, 2]))
    assert search.score(nodes, y) == pytest.approx(np.mean(best.predict() == y))


def test_cross_validation_scores_nodes_that_were_not_seen(factorizations: list[int]) -> None:
    _, _, y = planted()
    clf = on_nodes("sgc", epochs=30)
    scores = cross_val_score(clf, np.arange(48), y, cv=4)
    np.testing.assert_allclose(cross_val_score(clf, np.arange(48), y, cv=4, scoring="accuracy"), scores)
    assert factorizations == [2]
    assert scores.mean() > 0.6  # a third by chance
    # Classes that are learned in the wrong place are right by chance alone.
    shuffled = np.random.default_rng(0).permutation(y)
    assert cross_val_score(clf, np.arange(48), shuffled, cv=4).mean() < 0.6


# What was learned


def test_the_filter_that_was_learned() -> None:
    lam = np.linspace(0, 2, 6).reshape(2, 3)
    response = fitted("sgc").filter_response(lam)
    np.testing.assert_allclose(response, np.broadcast_to(((1 - lam) ** 2)[..., None], (2, 3, 60)), atol=1e-6)
    assert fitted("unifilter").filter_response(lam).shape == (2, 3, 60)
    with pytest.raises(
        ValueError, match="gcn learns no filter that is a function of the eigenvalues: use a polynomial method"
    ):
        fitted("gcn").filter_response(lam)
    with pytest.raises(NotFittedError):
        NodeClassifier("sgc").filter_response(lam)


def test_weights_are_those_of_the_filter() -> None:
    weights = fitted("bernnet").weights_
    assert weights is not None
    assert weights.shape == (3,)
    assert fitted("gcn").weights_ is None
    assert isinstance(fitted("gcn").model_, TrainedModel)


def test_with_a_graph_at_construction_fit_takes_nodes() -> None:
    karate = load_dataset("karate")
    clf = NodeClassifier("sgc", graph=karate.graph, x=karate.features, epochs=2)
    for wrong in ((karate.graph, karate.features, karate.labels), (range(34),)):
        with pytest.raises(ValueError, match=r"so fit takes nodes and their targets: fit\(nodes, y\)"):
            clf.fit(*wrong)
