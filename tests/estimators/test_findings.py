"""A model that has learned nothing says so, and one that has learned something does not."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from planted_targets import planted_labels, planted_numbers
from small_estimator import SMALL, refit

from unifilter import NodeClassifier, NodeRegressor, TrainedModel
from unifilter.data import NodeDataset
from unifilter.estimators import NothingLearnedWarning
from unifilter.estimators.findings import filter_unmoved, nothing_learned
from unifilter.training import Classification, History, MultiLabel, Regression

NAMES = np.array(["cat", "dog"])


def history(best_epoch: int = 5, scores: tuple[float, ...] = (0.5,) * 10) -> History:
    return History([1.0] * len(scores), [1.0] * len(scores), list(scores), best_epoch)


def said(labels: list[int], predicted: list[int], metric: Any = "accuracy", **happened: Any) -> str:
    outputs = torch.nn.functional.one_hot(torch.tensor(predicted), 2).double()
    task = Classification(torch.tensor(labels), 2)
    return nothing_learned(task, outputs, history(**happened), metric, np.arange(len(labels)), NAMES)


@pytest.mark.parametrize(
    ("labels", "predicted", "best_epoch", "expected"),
    [
        ([0, 1, 1, 1], [1, 1, 1, 1], 5, "It predicts 'dog' for every node: it has learned nothing."),
        ([0, 1, 1, 1], [0, 1, 1, 1], 5, ""),
        ([0, 1, 1, 1], [0, 1, 1, 1], 0, ""),  # the first epoch was the best, and good
        ([0, 1, 1, 1], [1, 0, 1, 1], 0, "No epoch was better than the first, and it is no better than the most freq"),
        ([0, 1, 1, 1], [1, 0, 1, 1], 5, ""),  # bad, but better than it was
    ],
)
def test_classes(labels: list[int], predicted: list[int], best_epoch: int, expected: str) -> None:
    found = said(labels, predicted, best_epoch=best_epoch)
    assert found.startswith(expected)
    assert bool(found) == bool(expected)


def test_a_model_that_ranks_may_give_every_node_the_same_class() -> None:
    labels, predicted = [0, 0, 0, 1], [0, 0, 0, 0]
    assert said(labels, predicted, "accuracy", scores=(0.9,) * 10)
    assert not said(labels, predicted, "roc_auc", scores=(0.9,) * 10)
    assert said(labels, predicted, "roc_auc", scores=(0.5,) * 10) == (
        "It ranks the validation nodes no better than chance: it has learned nothing."
    )


def test_labels_and_numbers() -> None:
    rows, val = torch.tensor([[1.0, -1.0], [2.0, -3.0]]).double(), np.arange(2)
    labels = MultiLabel(torch.tensor([[1.0, 0.0], [1.0, 1.0]]).double())
    assert nothing_learned(labels, rows, history(), "macro_f1", val, NAMES) == (
        "It predicts the same labels for every node: it has learned nothing."
    )
    assert not nothing_learned(labels, -rows * torch.tensor([[1.0], [-1.0]]), history(), "macro_f1", val, NAMES)
    numbers = Regression(rows, torch.zeros(2), torch.ones(2))
    assert nothing_learned(numbers, torch.full((2, 2), 0.3), history(), "r2", val, NAMES) == (
        "It predicts nearly the same number for every node: it has learned nothing."
    )
    # One of two targets was learned.
    assert not nothing_learned(numbers, torch.tensor([[0.3, 1.0], [0.3, 2.0]]), history(), "r2", val, NAMES)


def fit_collapsed(data: NodeDataset) -> NodeClassifier:
    """Features that say nothing."""
    classes = np.where(np.arange(60) % 4 == 0, "rare", "often")
    return NodeClassifier("mlp", epochs=30).fit(data.graph, np.ones((60, 3)), classes)


def test_a_collapsed_model_warns_and_its_file_says_so(data: NodeDataset, tmp_path: Path) -> None:
    with pytest.warns(NothingLearnedWarning, match="It predicts 'often' for every node: it has learned nothing"):
        clf = fit_collapsed(data)
    assert set(clf.predict()) == {"often"}
    clf.save(tmp_path / "model")
    loaded = TrainedModel.load(tmp_path / "model")
    assert (
        loaded.nothing_learned
        == clf.model_.nothing_learned
        == ("It predicts 'often' for every node: it has learned nothing.")
    )


def test_a_collapsed_regressor_warns() -> None:
    graph, x, y = planted_numbers(60)
    with pytest.warns(NothingLearnedWarning, match="It predicts nearly the same number for every node"):
        NodeRegressor("mlp", epochs=20).fit(graph, np.ones_like(x), y)


def test_a_collapsed_model_of_labels_warns() -> None:
    graph, x, y = planted_labels(60)
    with pytest.warns(NothingLearnedWarning, match="It predicts the same labels for every node"):
        NodeClassifier("mlp", epochs=20).fit(graph, np.ones_like(x), y)


@pytest.mark.parametrize("method", ["unifilter", "mlp", "sgc", "gprgnn", "asgc"])
def test_no_false_alarm(data: NodeDataset, method: str, tmp_path: Path) -> None:
    settings = {"unifilter": SMALL | {"epochs": 60}, "asgc": {"hops": 2, "ridge": 0.1}}.get(method, {"epochs": 60})
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # over the filter of the test suite
        clf = NodeClassifier(method, **settings).fit(data.graph, data.features, data.labels)
        graph, x, y = planted_numbers(60)
        if method != "asgc":
            NodeRegressor(method, epochs=40).fit(graph, x, y)
    clf.save(tmp_path / "model")
    assert TrainedModel.load(tmp_path / "model").nothing_learned == clf.model_.nothing_learned == ""


def test_a_rare_class_that_is_ranked_well_is_no_alarm() -> None:
    labels = (np.arange(600) % 20 == 0).astype(int)
    features = np.random.default_rng(0).standard_normal((600, 3)) + labels[:, None]
    clf = NodeClassifier("mlp", epochs=60, metric="roc_auc", features="raw")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.fit(planted_numbers(600).graph, features, labels)
    assert set(clf.predict()) == {0}
    assert clf.score(labels) > 0.65


def test_weights_that_moved_and_weights_that_did_not() -> None:
    start = torch.tensor([1.0, -0.5, 0.0])
    assert filter_unmoved(start, start.clone())
    assert filter_unmoved(start, start + 0.019)
    assert not filter_unmoved(start, start + 0.03)
    assert not filter_unmoved(None, start)
    assert not filter_unmoved(start, None)
    assert not filter_unmoved(start, torch.ones(4))


def test_a_filter_that_stayed_where_it_started_is_marked(data: NodeDataset, tmp_path: Path) -> None:
    still = refit(data, filter_lr=1e-9, filter_weight_decay=0.0)
    moved = refit(data, filter_lr=0.1, epochs=40)
    for clf, expected in ((still, True), (moved, False)):
        assert clf.model_.filter_unmoved is expected
        clf.save(tmp_path / "model")
        assert TrainedModel.load(tmp_path / "model").filter_unmoved is expected
    assert not NodeClassifier("mlp", epochs=2).fit(data.graph, data.features, data.labels).model_.filter_unmoved


@pytest.mark.parametrize("name", ["sgc", "mlp", "gcn", "asgc"])
def test_a_method_that_learns_no_filter_cannot_leave_it_unmoved(data: NodeDataset, name: str) -> None:
    clf = NodeClassifier(name, **({"hops": 2, "ridge": 0.1} if name == "asgc" else {"epochs": 1}))
    assert not clf.fit(data.graph, data.features, data.labels).model_.filter_unmoved
