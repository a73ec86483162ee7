"""Folds of the training and validation nodes: every node is held out once, and nothing is scored by what it trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from planted import held_out, planted_problem

from unifilter import NodeClassifier, TrainedModel
from unifilter.datasets.synthetic import contextual_sbm
from unifilter.estimators import fit
from unifilter.estimators.folds import fold_problems
from unifilter.explanation.mixtures import member_filters
from unifilter.methods.auto import AutoMethod

SMALL = {"hidden_channels": 8}
MEMBERS = (("mlp", SMALL), ("gprgnn", SMALL), ("sgc", {}))


def auto(**changes: Any) -> AutoMethod:
    return AutoMethod(**{"epochs": 15, "members": MEMBERS, "folds": 3, **changes})


@settings(max_examples=30, deadline=None)
@given(count=st.integers(2, 6), seed=st.integers(0, 99))
def test_every_node_is_held_out_once_and_classes_are_spread_evenly(count: int, seed: int) -> None:
    problem = planted_problem()
    nodes = np.sort(np.concatenate([problem.train, problem.val]))
    folds = fold_problems(problem, count, seed)
    labels = problem.dataset.labels.numpy()
    np.testing.assert_array_equal(np.sort(np.concatenate([one.val for one in folds])), nodes)
    for one in folds:
        np.testing.assert_array_equal(np.sort(np.concatenate([one.train, one.val])), nodes)
        assert set(labels[one.train]) == set(labels[nodes])
    for kind in np.unique(labels[nodes]):
        counts = [int((labels[one.val] == kind).sum()) for one in folds]
        assert max(counts) - min(counts) <= 1


def test_the_only_node_of_a_class_and_nodes_without_weight_are_always_trained_on() -> None:
    problem = planted_problem()
    nodes = np.concatenate([problem.train, problem.val])
    labels = problem.dataset.labels.clone()
    alone = int(nodes[3])
    labels[labels == 2] = 1
    labels[alone] = 2
    problem.workspace.dataset = replace(problem.dataset, labels=labels)
    weights = np.ones(problem.dataset.num_nodes)
    weights[nodes[:2]] = 0
    for one in fold_problems(replace(problem, weights=weights), 4, 0):
        assert alone in one.train
        assert not set(nodes[:2]) & set(one.val)


def test_one_fold_is_the_split_itself_and_too_many_are_refused() -> None:
    problem = planted_problem()
    assert fold_problems(problem, 1, 0) == [problem]
    small = replace(problem, train=problem.train[:3], val=problem.val[:1])
    with pytest.raises(ValueError, match="4 training and validation nodes cannot have 5 folds: use fewer"):
        fold_problems(small, 5, 0)
    with pytest.raises(ValueError, match="folds must be a whole number of at least 1"):
        AutoMethod(folds=0)
    with pytest.raises(ValueError, match="folds is 21: at most 20"):
        AutoMethod(folds=21)


def test_few_validation_nodes_get_folds_and_many_do_not() -> None:
    problem = planted_problem(400)
    assert AutoMethod().folds_for(replace(problem, val=problem.val[:99])) == 4
    assert AutoMethod().folds_for(replace(problem, val=np.arange(100))) == 1
    assert AutoMethod(quality="best").folds_for(replace(problem, val=np.arange(100))) == 4
    assert AutoMethod(quality="best", folds=1).folds_for(problem) == 1
    assert AutoMethod(folds=2).folds_for(problem) == 2


def test_all_networks_are_averaged_and_scored_where_they_were_not_trained() -> None:
    problem = planted_problem()
    fitted = fit(auto(), problem)
    model, board = fitted.model, fitted.model.leaderboard
    assert board is not None
    kept = [row for row in board if row.weight]
    assert len(model.members) == 3 * len(kept)
    assert sum(weight for _, weight, _ in model.members) == pytest.approx(1, abs=1e-6)
    assert all(row.epochs <= 45 for row in board)
    # The held-out outputs, computed again from the networks.
    folds = fold_problems(problem, 3, 0)
    temperatures = model.network.temperatures
    mixed = torch.zeros(problem.dataset.num_nodes, 3)
    for index, ((_, weight, network), temperature) in enumerate(zip(model.members, temperatures, strict=True)):
        val = folds[index % 3].val
        outputs = network.logits(problem.dataset.graph, problem.dataset.features)[val]
        mixed[val] += 3 * weight * torch.softmax(outputs / temperature, dim=1)
    nodes = np.concatenate([one.val for one in folds])
    accuracy = float((mixed[nodes].argmax(dim=1) == problem.dataset.labels[nodes]).double().mean())
    assert fitted.history.best_score == pytest.approx(accuracy) == pytest.approx(board.val_score)
    # Its other networks know these nodes: their own scores are of no use.
    assert fitted.refit
    assert len(model.calibration.scores) == len(nodes)
    expected = np.sort(1 - mixed[nodes, problem.dataset.labels[nodes]].numpy())
    np.testing.assert_allclose(model.calibration.scores, expected, atol=0.1)
    assert fitted.scores(held_out(problem))["accuracy"] > 0.5


def test_it_is_trained_again_from_its_settings_and_saved_whole(tmp_path: Path) -> None:
    problem = planted_problem()
    first = fit(auto(), problem)
    assert first.method.folds == 3
    again = fit(first.method, problem)
    assert torch.equal(again.logits, first.logits)
    first.model.save(tmp_path / "model")
    loaded = TrainedModel.load(tmp_path / "model")
    graph, x = problem.dataset.graph, problem.dataset.features
    assert torch.equal(loaded.logits(graph, x), first.model.logits(graph, x))
    assert [name for name, _, _ in loaded.members] == [name for name, _, _ in first.model.members]


def test_an_explanation_has_one_entry_for_all_folds_of_a_member() -> None:
    fitted = fit(auto(combine="mean", members=MEMBERS[:2]), planted_problem())
    filters = member_filters(fitted.model)
    assert [(one.name, pytest.approx(one.weight)) for one in filters] == [("mlp", 0.5), ("gprgnn", 0.5)]
    networks = [network for name, _, network in fitted.model.members if name == "gprgnn"]
    means = np.mean([network.weights.numpy() for network in networks], axis=0)
    np.testing.assert_allclose(filters[1].hop_weights, means, rtol=1e-6)


def test_a_member_that_was_not_trained_on_all_folds_has_no_weight() -> None:
    calls = []

    def stop(history: Any) -> bool:
        calls.append(history.epochs)
        return len(calls) > 15 * 3 + 5  # in the first fold of the second member

    fitted = fit(auto(), planted_problem(), on_epoch=stop)
    board = fitted.model.leaderboard
    assert board is not None
    assert [(row.weight, row.note) for row in sorted(board, key=lambda row: row.name)] == [
        (0.0, "stopped"), (1.0, ""), (0.0, "not started"),
    ]  # fmt: skip


def test_the_first_member_is_kept_when_it_is_stopped() -> None:
    fitted = fit(auto(), planted_problem(), on_epoch=lambda history: history.epochs == 4)
    assert [name for name, _, _ in fitted.model.members] == ["mlp"]
    assert fitted.refit  # it was trained on nodes of the validation set
    assert torch.isfinite(fitted.logits).all()


def test_sets_are_calibrated_on_held_out_nodes() -> None:
    data = contextual_sbm(num_nodes=80, num_classes=3, homophily=0.9, num_features=6, signal=4.0)
    clf = NodeClassifier("auto", members=MEMBERS[:2], epochs=10)
    clf.fit(data.graph, data.features, data.labels)
    assert clf.chosen_["folds"] == 4
    assert {len(one) for one in clf.predict_set(0.2)} <= {1, 2, 3}
