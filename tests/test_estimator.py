from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from dense import propagation_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from unifilter import Graph, UniFilterClassifier, model_file
from unifilter.bases import Jacobi
from unifilter.datasets.dataset import NodeDataset
from unifilter.datasets.synthetic import contextual_sbm
from unifilter.methods import problem
from unifilter.methods.uni_filter import UniFilterMethod
from unifilter.model_file import StoredModel
from unifilter.training import DivergedWarning, TrainingInterrupted, trainer

# Nothing left to choose: one training.
SMALL = {
    "hops": 3,
    "hidden_channels": 8,
    "epochs": 8,
    "batch_norm": False,
    "dropout": 0.5,
    "basis_dropout": 0.2,
    "lr": 0.05,
    "weight_decay": 5e-4,
}


@pytest.fixture(scope="module")
def data() -> NodeDataset:
    return contextual_sbm(num_nodes=60, num_classes=3, homophily=0.8, average_degree=5, num_features=6, signal=2.0)


@pytest.fixture(scope="module")
def fitted(data: NodeDataset) -> UniFilterClassifier:
    """Not to be changed by a test."""
    return UniFilterClassifier(**SMALL).fit(data.graph, data.features, data.labels)


@pytest.fixture
def factorisations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of hops of each factorisation, in the order they are made."""
    made: list[int] = []
    original = problem.factorize

    def counted(graph: Graph, features: Any, hops: int) -> Any:
        made.append(hops)
        return original(graph, features, hops)

    monkeypatch.setattr(problem, "factorize", counted)
    return made


def refit(data: NodeDataset, **settings: Any) -> UniFilterClassifier:
    return UniFilterClassifier(**{**SMALL, **settings}).fit(data.graph, data.features, data.labels)


# As an estimator of scikit-learn


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
    """All but the seed, which in the method is the published one."""
    params = UniFilterClassifier().get_params()
    for name, value in UniFilterMethod().settings().items():
        assert name in params
        if name != "seed":
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
    for name, value in first._stored.perceptron.items():
        assert torch.equal(value, second._stored.perceptron[name])
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
    learned = np.concatenate([clf._problem.train, clf._problem.val])
    assert sorted(learned) == list(range(4, 60))
    # Integers and their names are the same problem.
    indices = np.where(np.arange(60) < 4, -1, data.labels)
    np.testing.assert_array_equal(
        refit_on(data, indices).predict_proba(), clf.predict_proba(), "names change what is learned"
    )


def refit_on(data: NodeDataset, labels: Any, **nodes: Any) -> UniFilterClassifier:
    return UniFilterClassifier(**SMALL).fit(data.graph, data.features, labels, **nodes)


def test_a_share_of_each_class_is_held_out(data: NodeDataset) -> None:
    clf = refit(data, validation_fraction=0.25)
    train, val = clf._problem.train, clf._problem.val
    assert not set(train) & set(val)
    assert np.bincount(data.labels[val]).tolist() == [5, 5, 5]  # of 20 each
    assert len(train) + len(val) == 60
    other = refit(data, validation_fraction=0.25, seed=1)
    assert set(other._problem.val) != set(val)


def test_without_train_all_labelled_nodes_that_are_not_in_val(data: NodeDataset) -> None:
    clf = refit_on(data, data.labels, val=range(10))
    assert clf._problem.train.tolist() == list(range(10, 60))


def test_a_pyg_data_with_masks_and_with_masks_of_many_splits(data: NodeDataset, fitted: UniFilterClassifier) -> None:
    pyg = data.to_data("60")
    split = data.split("60", 3)
    assert pyg.train_mask.ndim == 2
    with pytest.raises(
        ValueError, match=r"train_mask has shape \[60, 10\], one column a split: pick one, fit\(data, train=data\.train"
    ):
        UniFilterClassifier(**SMALL).fit(pyg)
    picked = UniFilterClassifier(**SMALL).fit(pyg, train=pyg.train_mask[:, 3], val=pyg.val_mask[:, 3])
    pyg.train_mask, pyg.val_mask = pyg.train_mask[:, 3], pyg.val_mask[:, 3]
    clf = UniFilterClassifier(**SMALL).fit(pyg)
    assert (clf._problem.train.tolist(), clf._problem.val.tolist()) == (sorted(split.train), sorted(split.val))
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
        ({"train": []}, "there is nothing to learn from: train is empty, name some nodes that have a class"),
        ({"train": [], "val": [1, 2]}, "there is nothing to learn from"),
        ({"train": [3, 4], "val": []}, "val is empty: name some nodes, or leave it out to hold out a share of train"),
        ({"train": [3, 4, 5], "val": [5, 4]}, r"node 4 is in train and in val \(2 such nodes in all\)"),
        (
            {"train": [0, 3, 4]},
            r"node 0 is in train but has no class \(1 such nodes in all\): leave it out or label it",
        ),
        ({"train": [3, 4], "val": [0]}, "node 0 is in val but has no class"),
        ({"train": [3, 60]}, "train names node 60, which does not exist"),
        ({"train": [3, 4, 5]}, "no training node can be held out for validation, every class has one: pass val"),
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
        with pytest.raises(ValueError, match=r"fit needs the features x and the classes y: fit\(graph, x, y"):
            clf.fit(*arguments)
    with pytest.raises(ValueError, match="a graph is a Graph or a PyG Data, not ndarray: build one with Graph.from"):
        clf.fit(np.eye(3), np.eye(3), [0, 1, 0])
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
    with pytest.raises(ValueError, match="another graph comes with its features: pass both graph and x"):
        fitted.predict(graph=data.graph)
    with pytest.raises(ValueError, match="pass both graph and x"):
        fitted.predict(x=data.features)
    with pytest.raises(ValueError, match="x has 5 feature columns, but 6 were factored"):
        fitted.predict(graph=data.graph, x=data.features[:, :5])
    with pytest.raises(ValueError, match="a graph is a Graph or a PyG Data, not str"):
        fitted.predict(graph="cora")
    with pytest.raises(ValueError, match="nodes names node 99, which does not exist"):
        fitted.predict([99])
    with pytest.raises(ValueError, match="there is nothing to score: name some nodes"):
        fitted.score(np.full(60, -1))
    with pytest.raises(ValueError, match="node 2 is in nodes but has no class"):
        fitted.score(np.where(np.arange(60) == 2, -1, data.labels), nodes=[1, 2])
    with pytest.raises(ValueError, match="node 0 is of class 7, which was not learned: the classes are 0, 1, 2"):
        fitted.score(np.full(60, 7))


# One factorisation


def test_a_refit_touches_the_graph_once(data: NodeDataset, factorisations: list[int]) -> None:
    clf = refit(data)
    clf.set_params(tau=0.9, basis="chebyshev", homophily=0.2).fit(data.graph, data.features, data.labels)
    relabelled = data.labels.flip(0)
    clf.fit(data.graph, data.features.numpy(), relabelled, train=range(30))
    assert factorisations == [3]
    # The labels are those of the last fit all the same.
    assert torch.equal(clf._problem.dataset.labels, relabelled)
    clf.set_params(hops=2).fit(data.graph, data.features, data.labels)
    clf.fit(data.graph, data.features + 1, data.labels)
    assert factorisations == [3, 2, 2]


def test_a_sweep_touches_no_graph_and_keeps_the_best(data: NodeDataset, factorisations: list[int]) -> None:
    clf = refit(data)
    rows = clf.sweep(tau=[0.0, 0.5, "learn"], homophily=[None, 0.3])
    assert factorisations == [3]
    assert [(row.tau, row.homophily) for row in rows] == [
        (tau, homophily) for tau in (0.0, 0.5, "learn") for homophily in (None, 0.3)
    ]
    best = max(rows, key=lambda row: row.val_score)
    assert (clf.tau, clf.homophily) == (best.tau, best.homophily)
    assert clf.history_.best_score == best.val_score
    # It is the model that a fit with these settings gives.
    again = refit(data, tau=best.tau, homophily=best.homophily)
    np.testing.assert_array_equal(clf.predict_proba(), again.predict_proba())
    assert clf._stored.parameters["tau"] == best.tau
    with pytest.raises(ValueError, match="there is nothing to try: pass at least one tau and one homophily"):
        clf.sweep(tau=[])


def test_a_sweep_prefers_any_score_to_none(data: NodeDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    clf = refit(data)
    original = trainer._validate
    calls = iter(range(1000))

    def at_first_not_a_number(*arguments: Any) -> tuple[float, float]:
        return (float("nan"), float("nan")) if next(calls) == 0 else original(*arguments)

    monkeypatch.setattr(trainer, "_validate", at_first_not_a_number)
    with pytest.warns(DivergedWarning):
        rows = clf.sweep(tau=[0.2, 0.8])
    assert np.isnan(rows[0].val_score)
    assert clf.tau == 0.8


# What is left open


def test_the_best_of_all_kinds_of_training_is_kept(data: NodeDataset) -> None:
    still_open = dict.fromkeys(("batch_norm", "dropout", "basis_dropout", "lr"))
    clf = refit(data, weight_decay=0.01, **still_open)
    kinds = UniFilterMethod().candidates()
    assert sorted(clf.chosen_) == ["basis_dropout", "batch_norm", "dropout", "lr"]
    apart = [refit(data, weight_decay=0.01, **{name: getattr(kind, name) for name in clf.chosen_}) for kind in kinds]
    scores = [one.history_.best_score for one in apart]
    assert all(one.chosen_ == {} for one in apart)
    assert clf.history_.best_score == max(scores)
    same = [one for one in apart if np.array_equal(one.predict_proba(), clf.predict_proba())]
    assert [{name: one.get_params()[name] for name in clf.chosen_} for one in same] == [clf.chosen_]
    assert clf.get_params()["dropout"] is None  # a parameter stays what it was set to


@pytest.mark.parametrize(("given", "kinds"), [(None, 5), (False, 4), (True, 1)])
def test_batch_norm_that_is_given_leaves_fewer_kinds(given: bool | None, kinds: int) -> None:
    found = UniFilterMethod(batch_norm=given).candidates()
    assert len(found) == kinds
    assert given is None or {method.batch_norm for method in found} == {given}
    assert all(None not in (method.dropout, method.basis_dropout, method.lr, method.weight_decay) for method in found)


def test_batch_norm_that_means_nothing_is_refused(data: NodeDataset) -> None:
    with pytest.raises(ValueError, match="batch_norm must be True, False or None, which tries both, not 'yes'"):
        refit(data, batch_norm="yes")


@pytest.mark.parametrize("dataset", UniFilterMethod.presets)
def test_published_settings_leave_nothing_open(dataset: str) -> None:
    method = UniFilterMethod.preset(dataset)
    assert list(method.candidates()) == [method]


# Training that goes wrong, or is interrupted


def test_a_loss_that_is_not_a_number_keeps_finite_weights(data: NodeDataset) -> None:
    with pytest.warns(DivergedWarning, match="a learning rate .* is too high"):
        clf = refit(data, lr=1e30, epochs=50)
    assert clf.history_.ended == "diverged"
    assert np.isfinite(clf.predict_proba()).all()


@contextmanager
def interrupted_after(epochs: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    original = trainer._validate
    calls = iter(range(1, 1000))

    def then_interrupt(*arguments: Any) -> tuple[float, float]:
        if next(calls) == epochs:
            signal.raise_signal(signal.SIGINT)
        return original(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(trainer, "_validate", then_interrupt)
        yield


def test_an_interrupted_fit_goes_on_from_its_checkpoint(
    data: NodeDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "state.pt"
    undisturbed = refit(data)
    clf = UniFilterClassifier(**SMALL)
    with interrupted_after(3, monkeypatch), pytest.raises(TrainingInterrupted, match="stopped after 3 epochs"):
        clf.fit(data.graph, data.features, data.labels, checkpoint=file)
    with pytest.raises(NotFittedError):
        clf.predict()
    with pytest.raises(ValueError, match="belongs to a run with other settings or other data"):
        clone(clf).set_params(tau=0.1).fit(data.graph, data.features, data.labels, checkpoint=file)
    clf.fit(data.graph, data.features, data.labels, checkpoint=file)
    np.testing.assert_array_equal(clf.predict_proba(), undisturbed.predict_proba())
    assert clf.history_.loss == undisturbed.history_.loss
    assert not file.exists()


def test_checkpoints_tell_sets_of_nodes_apart(
    data: NodeDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also sets of as many nodes with the same sum."""
    file = tmp_path / "state.pt"
    with interrupted_after(2, monkeypatch), pytest.raises(TrainingInterrupted):
        refit_on(data, data.labels, train=range(10, 40), val=[1, 4], checkpoint=file)
    with pytest.raises(ValueError, match="belongs to a run with other settings or other data"):
        refit_on(data, data.labels, train=range(10, 40), val=[2, 3], checkpoint=file)


def test_a_fit_that_fails_leaves_the_estimator_as_it_was(data: NodeDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    clf = refit(data)
    before = clf.predict_proba()
    smaller = contextual_sbm(num_nodes=20, num_classes=2, average_degree=4, num_features=6)
    with interrupted_after(2, monkeypatch), pytest.raises(TrainingInterrupted):
        clf.fit(smaller.graph, smaller.features, ["x", "y"] * 10)
    np.testing.assert_array_equal(clf.predict_proba(), before)
    assert clf.classes_.tolist() == [0, 1, 2]


# Other graphs


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"basis": "homophily", "features": "l2", "self_loops": "add"},
        {"basis": "orthonormal", "weights": "channel"},
        {"basis": Jacobi(0.5, -0.5), "batch_norm": True},
        {"tau": "learn", "theta": "learn"},
        {"formulation": "released"},
    ],
    ids=str,
)
def test_on_the_training_graph_the_recurrence_gives_what_the_rows_gave(
    data: NodeDataset, settings: dict[str, Any]
) -> None:
    clf = refit(data, **settings)
    np.testing.assert_allclose(
        clf.predict_proba(graph=data.graph, x=data.features), clf.predict_proba(), rtol=0, atol=1e-4
    )


def grown(data: NodeDataset) -> tuple[Graph, torch.Tensor]:
    """Ten nodes more, each tied to four."""
    random = np.random.default_rng(5)
    new = np.stack([np.repeat(np.arange(60, 70), 4), random.integers(0, 60, 40)])
    edges, _ = data.graph.edges()
    more = torch.from_numpy(random.standard_normal((10, 6)).astype(np.float32))
    return Graph.from_edges(np.concatenate([edges.numpy(), new], axis=1), 70), torch.cat([data.features, more])


def test_on_a_grown_graph_the_polynomial_is_the_same(data: NodeDataset) -> None:
    """The learned response, evaluated on a dense eigendecomposition of the grown graph, then the perceptron."""
    clf = refit(data, tau=0.3, features="raw")
    graph, x = grown(data)
    mu, vectors = np.linalg.eigh(propagation_matrix(graph))
    response = clf._fitted.learner.response(torch.from_numpy(1 - mu).float()).double().numpy()
    filtered = vectors @ (response * (vectors.T @ x.double().numpy()))
    with torch.no_grad():
        logits = clf._fitted.learner.model.mlp(torch.from_numpy(filtered).float())
    expected = torch.softmax(logits, dim=1).numpy()
    found = clf.predict_proba(graph=graph, x=x)
    assert found.shape == (70, 3)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    np.testing.assert_array_equal(clf.predict([65, 1], graph=graph, x=x), found.argmax(axis=1)[[65, 1]])
    assert clf.score([0] * 70, [0, 1], graph=graph, x=x) == np.mean(found.argmax(axis=1)[:2] == 0)


def test_settings_changed_after_a_fit_do_not_change_its_predictions(data: NodeDataset) -> None:
    clf = refit(data, features="l2", self_loops="add")
    graph, x = grown(data)
    before = clf.predict_proba(graph=graph, x=x)
    clf.set_params(features="raw", self_loops="remove")
    np.testing.assert_array_equal(clf.predict_proba(graph=graph, x=x), before)


# Files

_IN_ANOTHER_PROCESS = """
import sys
import numpy as np
from unifilter import Graph, UniFilterClassifier

arrays = np.load(sys.argv[2])
clf = UniFilterClassifier.load(sys.argv[1])
graph = Graph.from_edges(arrays["edges"], num_nodes=len(arrays["x"]))
np.save(sys.argv[3], clf.predict_proba(graph=graph, x=arrays["x"]))
"""


def test_a_saved_model_predicts_the_same_in_another_process(data: NodeDataset, tmp_path: Path) -> None:
    names = np.array(["ape", "bee", "cat"])[data.labels.numpy()]
    clf = UniFilterClassifier(
        **{**SMALL, "features": "l2", "self_loops": "add", "batch_norm": True, "tau": np.float32(0.5)}
    )
    clf.fit(data.graph, data.features, names)
    graph, x = grown(data)
    model, arrays, result = (tmp_path / name for name in ("a model.unifilter", "arrays.npz", "result.npy"))
    clf.save(model)
    np.savez(arrays, edges=graph.edges()[0].numpy(), x=x.numpy())
    subprocess.run([sys.executable, "-c", _IN_ANOTHER_PROCESS, model, arrays, result], check=True, timeout=120)
    np.testing.assert_array_equal(np.load(result), clf.predict_proba(graph=graph, x=x))


def test_what_a_loaded_model_knows(data: NodeDataset, tmp_path: Path) -> None:
    basis = Jacobi(0.5, -0.5)
    clf = refit(data, basis=basis, hops=np.int64(3), dropout=np.float32(0.25))
    clf.save(tmp_path / "m")
    loaded = UniFilterClassifier.load(tmp_path / "m")
    assert loaded.get_params() == clf.get_params() | {"basis": repr(basis)}
    np.testing.assert_array_equal(loaded.weights_, clf.weights_)
    np.testing.assert_array_equal(loaded.classes_, clf.classes_)
    assert (loaded.tau_, loaded.homophily_, loaded.n_features_in_) == (None, None, 6)
    assert loaded.score(data.labels, graph=data.graph, x=data.features) == pytest.approx(clf.score(data.labels))
    with pytest.raises(ValueError, match=r"a loaded model has no graph of its own: pass one, predict\(graph=graph"):
        loaded.predict()
    with pytest.raises(ValueError, match="a loaded model has no training data to sweep on: call fit first"):
        loaded.sweep()
    # What was loaded can be saved, and fitted, again.
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    loaded.set_params(basis="uni").fit(data.graph, data.features, data.labels).predict()


def test_a_model_with_a_learned_tau_says_which(data: NodeDataset, tmp_path: Path) -> None:
    clf = refit(data, tau="learn", filter_lr=0.1)
    clf.save(tmp_path / "m")
    loaded = UniFilterClassifier.load(tmp_path / "m")
    assert loaded.tau_ == clf.tau_ != 0.5
    assert loaded.tau == "learn"


@pytest.fixture(scope="module")
def saved(fitted: UniFilterClassifier, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.unifilter"
    fitted.save(path)
    return path


def test_a_byte_changed_anywhere_is_noticed(saved: Path, tmp_path: Path) -> None:
    content = saved.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    changes = [(place, 1) for place in [*range(0, header, 3), *range(header, len(content), 97), len(content) - 1]]
    # A space that becomes a tab is the same to JSON.
    changes += [(place, ord(" ") ^ ord("\t")) for place in range(8, header) if content[place] == ord(" ")]
    path = tmp_path / "changed"
    for place, change in changes:
        changed = bytearray(content)
        changed[place] ^= change
        path.write_bytes(changed)
        with pytest.raises(ValueError, match="was changed after|not a whole one|but no UniFilter model"):
            StoredModel.load(path)


def test_a_part_of_a_file_is_refused(saved: Path, tmp_path: Path) -> None:
    content = saved.read_bytes()
    path = tmp_path / "part"
    for length in [*range(12), 100, len(content) // 2, len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match="part is not a model file, or not a whole one"):
            UniFilterClassifier.load(path)
    path.write_bytes(content + b"\0")
    with pytest.raises(ValueError, match="not a whole one"):
        UniFilterClassifier.load(path)


def test_files_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "other"
    for content in (b"node,prediction\n0,1\n" * 20, b"\x89PNG\r\n\x1a\n" + bytes(100), b"\xff" * 100):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="other is not a model file, or not a whole one .*: pass a file that save"):
            UniFilterClassifier.load(path)
    safetensors.torch.save_file({"a": torch.ones(2)}, path)
    with pytest.raises(ValueError, match="holds tensors, but no UniFilter model: pass a file that save"):
        UniFilterClassifier.load(path)
    for absent in (tmp_path / "absent", tmp_path):
        with pytest.raises(FileNotFoundError, match="there is no model file .*: pass the path of a file that save"):
            UniFilterClassifier.load(absent)


def test_a_newer_format(fitted: UniFilterClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(model_file, "_FORMAT", 2)
        fitted.save(tmp_path / "new")
    with pytest.raises(ValueError, match="has format 2, and this version reads up to 1: update unifilter"):
        UniFilterClassifier.load(tmp_path / "new")


def test_a_file_holds_numbers_and_settings_alone(saved: Path, fitted: UniFilterClassifier) -> None:
    content = saved.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    stored = json.loads(header["__metadata__"]["unifilter"])
    assert stored["parameters"] == fitted.get_params()
    # Nothing is as long as the training graph has nodes.
    assert all(60 not in entry["shape"] for name, entry in header.items() if name != "__metadata__")


def test_saving_where_there_is_no_folder_or_over_an_old_model(
    fitted: UniFilterClassifier, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder .*: create it first"):
        fitted.save(tmp_path / "absent" / "m")
    path = tmp_path / "m"
    path.write_bytes(saved.read_bytes())

    def fail(*_: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        fitted.save(path)
    assert path.read_bytes() == saved.read_bytes()
    assert list(tmp_path.iterdir()) == [path]


def test_only_unifilter_can_be_stored(data: NodeDataset) -> None:
    from unifilter.methods import Problem, Workspace, find_method, fit

    workspace = Workspace(data)
    other: Callable[..., Any] = find_method("sgc")
    trained = fit(other(epochs=1, features="raw"), Problem(workspace, np.arange(30), np.arange(30, 60)))
    with pytest.raises(ValueError, match="only UniFilter and its variants can be stored for prediction, not sgc"):
        StoredModel.from_fitted(trained, workspace.factorization("raw", 3).tridiagonal, np.arange(3), {})
