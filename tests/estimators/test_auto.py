"""A portfolio of methods: what is trained, how it is combined, and that it is one model all the same."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from planted import held_out, planted_problem
from sklearn.base import clone

from unifilter import Graph, NodeClassifier, NodeRegressor, TrainedModel
from unifilter.datasets.synthetic import contextual_sbm
from unifilter.estimators import Fitted, fit
from unifilter.estimators.portfolio import behind, rungs_of
from unifilter.methods import find_method
from unifilter.methods.auto import AutoMethod
from unifilter.training import History, TrainingInterrupted

SMALL = {"hidden_channels": 8}
MEMBERS = (
    ("mlp", SMALL),
    ("gprgnn", SMALL),
    ("unifilter", {**SMALL, "hops": 3, "batch_norm": False, "lr": 0.05, "dropout": 0.2, "basis_dropout": 0.2}),
    ("linkx", SMALL),
)


def auto(**changes: Any) -> AutoMethod:
    return AutoMethod(**{"epochs": 15, "members": MEMBERS, "folds": 1, **changes})


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    return fit(auto(combine="mean"), planted_problem())


def test_the_output_is_the_logarithm_of_the_mean_probability(fitted: Fitted) -> None:
    model, dataset = fitted.model, planted_problem().dataset
    probabilities = []
    for (_, weight, member), temperature in zip(model.members, model.network.temperatures, strict=True):
        assert weight == pytest.approx(1 / 4)
        logits = member.logits(dataset.graph, dataset.features)
        probabilities.append(weight * torch.softmax(logits / temperature, dim=1))
    torch.testing.assert_close(fitted.logits.exp(), sum(probabilities), rtol=1e-4, atol=1e-6)
    assert torch.allclose(fitted.logits.exp().sum(dim=1), torch.ones(48), atol=1e-5)


def test_labels_and_numbers_are_averaged_as_they_are() -> None:
    from unifilter.nn.mixture import mixed

    outputs = torch.randn(3, 5, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weights, temperatures = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([1.0, 2.0, 0.5])
    shares = weights[:, None, None].double()
    assert torch.allclose(mixed(list(outputs), weights, temperatures, "regression"), (shares * outputs).sum(dim=0))
    wanted = (shares * torch.sigmoid(outputs / temperatures[:, None, None])).sum(dim=0)
    assert torch.allclose(torch.sigmoid(mixed(list(outputs), weights, temperatures, "multilabel")), wanted)


def test_the_leaderboard_says_what_every_member_did(fitted: Fitted) -> None:
    board = fitted.model.leaderboard
    assert board is not None
    assert sorted(row.name for row in board) == ["gprgnn", "linkx", "mlp", "unifilter"]
    assert sum(row.weight for row in board) == pytest.approx(1)
    scores = [row.val_score for row in board]
    assert scores == sorted(scores, reverse=True)
    assert all(row.standard_error is not None and row.seconds > 0 and row.epochs == 15 for row in board)
    assert sum(row.seconds for row in board) == pytest.approx(fitted.history.seconds)
    text = str(board)
    assert text.splitlines()[1].startswith("all together")
    assert len(text.splitlines()) == 6


def test_the_same_seed_gives_the_same_model_and_another_one_another() -> None:
    first, second, third = (fit(auto(seed=seed), planted_problem()) for seed in (1, 1, 2))
    assert torch.equal(first.logits, second.logits)
    assert first.method == second.method
    assert not torch.equal(first.logits, third.logits)


def test_what_was_trained_can_be_trained_again() -> None:
    given = planted_problem()
    first = fit(auto(), given)
    again = fit(replace(first.method, members=first.method.members), given)
    assert again.method == first.method
    assert torch.equal(again.logits, first.logits)


@pytest.mark.parametrize("rule", ["greedy", "mean", "best"])
def test_rules_of_combination(rule: str) -> None:
    given = planted_problem(90)
    mixture = fit(auto(combine=rule), given)
    board = mixture.model.leaderboard
    assert board is not None
    best = max(row.val_score for row in board if row.val_score is not None)
    if rule == "best":
        assert [row.weight for row in board if row.weight] == [1.0]
    if rule == "mean":
        assert {round(row.weight, 6) for row in board} == {0.25}
    if rule == "greedy":
        # By the score alone it would be the best or better; half of the weight is found by the loss.
        assert board.val_score >= best - 0.1
    assert mixture.scores(held_out(given))["accuracy"] > 0.5


def test_a_file_holds_all_of_it(fitted: Fitted, tmp_path: Path) -> None:
    fitted.model.save(tmp_path / "model")
    loaded, dataset = TrainedModel.load(tmp_path / "model"), planted_problem().dataset
    assert loaded.leaderboard == fitted.model.leaderboard
    assert loaded.method == fitted.method
    logits = fitted.model.logits(dataset.graph, dataset.features)
    assert torch.equal(loaded.logits(dataset.graph, dataset.features), logits)
    assert torch.equal(pickle.loads(pickle.dumps(fitted.model)).logits(dataset.graph, dataset.features), logits)


def grown() -> tuple[Graph, torch.Tensor]:
    dataset = planted_problem().dataset
    edges, _ = dataset.graph.edges()
    more = torch.stack([torch.arange(48, 52), torch.arange(4)])
    return Graph.from_edges(torch.cat([edges, more], dim=1), 52), torch.cat([dataset.features, torch.eye(12)[:4]])


def test_members_for_these_nodes_alone_are_left_out_on_demand(fitted: Fitted) -> None:
    with pytest.raises(ValueError, match="auto has members with a weight for each of the 48 nodes .* inductive=True"):
        fitted.model.logits(*grown())
    with pytest.raises(ValueError, match="linkx cannot predict for new nodes, and inductive=True asks for that: leave"):
        fit(auto(inductive=True), planted_problem())
    plan = [member.name for member in AutoMethod(inductive=True).portfolio(planted_problem())]
    assert "linkx" in [member.name for member in AutoMethod().portfolio(planted_problem())]
    assert "linkx" not in plan
    mixture = fit(auto(members=MEMBERS[:3], combine="mean", inductive=True), planted_problem())
    assert torch.isfinite(mixture.model.logits(*grown())).all()


def test_a_time_limit_ends_it_and_says_so() -> None:
    mixture = fit(auto(epochs=1000, time_limit=1e-4), planted_problem())  # less than an epoch takes
    board = mixture.model.leaderboard
    assert board is not None
    assert {row.note for row in board} <= {"", "out of time", "no time left", "not needed"}
    assert "no time left" in {row.note for row in board}
    assert sum(row.weight for row in board) == pytest.approx(1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"time_limit": "soon"}, "time_limit is 'soon': pass seconds, or a text such as '90s', '2min' or '1h'"),
        ({"quality": "superb"}, "quality must be one of 'fast', 'good', 'best', not 'superb'"),
        ({"combine": "vote"}, "combine must be one of 'greedy', 'mean', 'best', not 'vote'"),
        ({"members": ()}, "members is empty: name at least one, or leave it out for the portfolio"),
        ({"members": (7,)}, "a member is 7: pass the name of a method, or a pair of a name and a dict of settings"),
        ({"members": ("mlp",), "weights": (0.5, 0.5)}, "there are 2 weights for 1 members: pass one for each"),
        ({"members": ("mlp", "sgc"), "weights": (1.5, -0.5)}, "weights must not be negative and have a sum of 1"),
    ],
)
def test_settings_that_say_nothing_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AutoMethod(**settings)


def test_members_that_cannot_be_are_refused() -> None:
    given = planted_problem()
    with pytest.raises(ValueError, match="a portfolio cannot be a member of itself: name other methods"):
        fit(auto(members=("auto",)), given)
    with pytest.raises(ValueError, match="there is no method 'nobody'"):
        fit(auto(members=("nobody",)), given)


def test_a_method_of_ones_own_can_be_a_member() -> None:
    mixture = fit(auto(members=(find_method("sgc")(epochs=5), "mlp"), combine="mean"), planted_problem())
    assert [name for name, _, _ in mixture.model.members] == ["sgc", "mlp"]


def history(*scores: float) -> History:
    return History(list(scores), list(scores), list(scores), 0)


def test_a_slow_start_is_not_held_against_a_member_with_patience() -> None:
    members = [one for one in AutoMethod().portfolio(planted_problem()) if one.name == "unifilter"]
    patient = [one for one in members if one.settings()["batch_norm"]]
    others = [one for one in members if not one.settings()["batch_norm"]]
    assert [one.settings()["patience"] for one in patient] == [200]
    assert {one.settings()["patience"] for one in others} == {100}
    started, rival = history(*[0.3] * 199), history(*[0.9] * 199)
    assert behind(started, [rival], 100, rungs_of(others[0]))
    assert not behind(started, [rival], 100, rungs_of(patient[0]))


def test_who_is_clearly_behind_at_a_rung_is_given_up() -> None:
    good, bad = [0.9] * 50, [0.5] * 50
    assert behind(history(*bad), [history(*good)], 400)
    assert not behind(history(*bad[:49]), [history(*good)], 400)  # not before the rung
    assert not behind(history(*bad), [history(*good)], 4)  # so few nodes say nothing
    assert not behind(history(*bad), [history(*good[:20])], 400)  # who ended early is no measure
    assert not behind(history(*bad), [], 400)
    assert not behind(history(*good), [history(*bad)], 400)


def test_an_interrupted_fit_trains_no_member_twice(tmp_path: Path) -> None:
    given, seen = planted_problem(), []

    def interrupt(now: History) -> None:
        seen.append(now.epochs)
        if len(seen) == 20:
            raise KeyboardInterrupt

    whole = fit(auto(), given)
    with pytest.raises(TrainingInterrupted):
        fit(auto(), given, checkpoint=tmp_path / "run.pt", fingerprint="a", on_epoch=interrupt)
    seen.clear()
    resumed = fit(
        auto(), given, checkpoint=tmp_path / "run.pt", fingerprint="a", on_epoch=lambda now: seen.append(now.epochs)
    )
    assert seen == [*range(6, 16), *range(1, 16), *range(1, 16)]
    assert torch.equal(resumed.logits, whole.logits)


def test_who_watches_can_end_it() -> None:
    mixture = fit(auto(), planted_problem(), on_epoch=lambda now: now.epochs == 5)
    assert mixture.history.ended == "stopped"
    board = mixture.model.leaderboard
    assert board is not None
    assert [row.epochs for row in board] == [5, 0, 0, 0]
    assert [row.note for row in board] == ["", "not started", "not started", "not started"]


def test_columns_in_different_units_are_standardized_by_every_member() -> None:
    given = planted_problem()
    wide = given.dataset.features * torch.tensor([1e6] + [1.0] * (given.dataset.features.shape[1] - 1))
    problem = planted_problem()
    problem.workspace.dataset = replace(problem.dataset, features=wide)
    assert {member.features for member in AutoMethod().portfolio(problem)} == {"standard"}
    assert "row" in {member.features for member in AutoMethod().portfolio(given)}


def test_members_share_one_recurrence_where_vectors_would_be_large(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = planted_problem()

    def forms() -> set[str]:
        return {one.channels for one in AutoMethod().portfolio(problem) if hasattr(one, "channels")}

    assert forms() == {"each"}
    monkeypatch.setattr("unifilter.methods.auto._MOST_VECTORS", 1000)
    assert forms() == {"shared"}
    fitted = fit(AutoMethod(epochs=2, quality="fast"), problem)
    assert {model.method.channels for _, _, model in fitted.model.members if hasattr(model.method, "channels")} <= {
        "shared"
    }


def test_an_estimator_like_any_other() -> None:
    data = contextual_sbm(num_nodes=60, num_classes=3, homophily=0.9, num_features=6, signal=4.0)
    clf = NodeClassifier("auto", members=MEMBERS[:2], epochs=10).fit(data.graph, data.features, data.labels)
    assert clf.leaderboard_ is not None
    assert {len(one) for one in clf.predict_set(0.2)} <= {1, 2, 3}
    np.testing.assert_allclose(clf.predict_proba().sum(axis=1), 1, rtol=1e-5)
    again = clone(clf).fit(data.graph, data.features, data.labels)
    np.testing.assert_array_equal(again.predict_proba(), clf.predict_proba())
    assert clf.chosen_.keys() >= {"weights"}
    other = NodeRegressor("auto", members=MEMBERS[:2], epochs=10)
    other.fit(data.graph, data.features, data.features.sum(dim=1).numpy())
    assert other.predict_interval(0.2).shape == (60, 2)
    assert other.leaderboard_ is not None
    assert other.leaderboard_.metric == "r2"


def test_an_explanation_has_every_member_and_the_whole() -> None:
    from unifilter.explanation import explain

    data = contextual_sbm(num_nodes=60, num_classes=3, homophily=0.9, num_features=6, signal=4.0)
    clf = NodeClassifier("auto", members=MEMBERS, epochs=10, combine="mean").fit(data.graph, data.features, data.labels)
    explanation = explain(clf)
    assert {member.name for member in explanation.members} == {"mlp", "gprgnn", "unifilter", "linkx"}
    assert [member.response is None for member in explanation.members if member.name in ("mlp", "linkx")] == [True] * 2
    assert "The prediction is a weighted mean" in explanation.verdict[0]
    assert len(explanation.to_dict()["members"]) == 4
    shapes = [one.response[1] for one in explanation.members if one.response is not None]
    scaled = np.mean([shape / np.abs(shape).max() for shape in shapes], axis=0)
    np.testing.assert_allclose(explanation.curves.response, scaled, rtol=1e-4)
    plain = NodeClassifier("auto", members=MEMBERS[:1], epochs=3).fit(data.graph, data.features, data.labels)
    with pytest.raises(ValueError, match="no member of this portfolio learns a filter"):
        explain(plain)


def test_greedy_selection_takes_who_is_right_and_adds_who_helps() -> None:
    from unifilter.estimators.combining import member_weights
    from unifilter.training import Classification

    labels = torch.arange(40) % 2
    task, nodes = Classification(labels, 2), torch.arange(40)
    right = torch.nn.functional.one_hot(labels, 2).float() * 4
    first, second = right.clone(), right.clone()
    first[:10], second[10:20] = -first[:10] * 0.1, -second[10:20] * 0.1  # each errs, a little, where the other is sure
    wrong = -right
    weights = member_weights([wrong, first, second], [1.0, 1.0, 1.0], task, nodes, "accuracy", "greedy")
    assert weights[0] == 0
    assert weights[1] > 0.3
    assert weights[2] > 0.3
    assert weights.sum() == pytest.approx(1)
    best = member_weights([wrong, first, right], [1.0, 1.0, 1.0], task, nodes, "accuracy", "best")
    assert best.tolist() == [0, 0, 1]
    nothing = member_weights([right * float("nan")] * 2, [1.0, 1.0], task, nodes, "accuracy", "greedy")
    assert nothing.tolist() == [0.5, 0.5]
