"""UniFilter with channels="shared" from the setting to the model file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from planted import awkward_problem, planted_problem
from small_estimator import SMALL, grown

from unifilter import Graph, TrainedModel, UniFilterClassifier, UniFilterRegressor, explain, explain_node
from unifilter.data import NodeDataset
from unifilter.datasets.synthetic import contextual_sbm
from unifilter.estimators import fit
from unifilter.experiments.engine.cells import method_cell
from unifilter.explanation import feature_importance
from unifilter.methods import Problem, Workspace
from unifilter.methods.uni_filter import UniFilterMethod
from unifilter.methods.way_of_training import rows_are_faster
from unifilter.nn import SharedUniFilter, SparseRows

QUICK: dict[str, Any] = {"hops": 4, "hidden_channels": 8, "epochs": 40, "dropout": 0.0, "basis_dropout": 0.0}
QUICK |= {"batch_norm": False, "lr": 0.05, "weight_decay": 5e-4}
WAYS = pytest.mark.parametrize("precompute", [True, False])


@pytest.fixture(scope="module")
def data() -> NodeDataset:
    return contextual_sbm(num_nodes=60, num_classes=3, homophily=0.8, average_degree=5, num_features=6, signal=2.0)


def classifier(data: NodeDataset, **settings: Any) -> UniFilterClassifier:
    return UniFilterClassifier(**{**SMALL, "hidden_channels": 4, "channels": "shared", **settings}).fit(
        data.graph, data.features, data.labels
    )


def test_without_dropout_both_ways_train_the_same_model() -> None:
    given = planted_problem()
    rows, loop = (fit(UniFilterMethod(channels="shared", precompute=way, **QUICK), given) for way in (True, False))
    np.testing.assert_allclose(rows.history.loss[:5], loop.history.loss[:5], rtol=1e-3)
    assert rows.history.best_score > 0.6


@WAYS
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tau": "learn", "theta": "learn"},
        {"basis": "chebyshev"},
        {"batch_size": 7},
        {"batch_norm": True, "dropout": 0.3, "basis_dropout": 0.3},
        {"features": "raw", "self_loops": "add", "num_layers": 1},
    ],
    ids=str,
)
def test_a_model_file_predicts_what_was_trained(precompute: bool, settings: dict[str, Any], tmp_path: Path) -> None:
    """On awkward data: disconnected, with isolated nodes, a node without a word and a word without a node."""
    given = awkward_problem()
    fitted = fit(UniFilterMethod(channels="shared", precompute=precompute, **{**QUICK, "epochs": 8, **settings}), given)
    fitted.model.save(tmp_path / "model")
    loaded = TrainedModel.load(tmp_path / "model")
    assert isinstance(loaded.network, SharedUniFilter)
    for model in (fitted.model, loaded):
        found = model.logits(given.dataset.graph, given.dataset.features)
        torch.testing.assert_close(found, fitted.logits, rtol=1e-3, atol=1e-4)
    assert loaded.network.alpha is not None
    assert loaded.network.alpha.shape == (5, 1)


@WAYS
def test_grown_and_new_graphs(data: NodeDataset, precompute: bool) -> None:
    """A new node that is joined to nothing changes nothing for the others, and another graph is another matter."""
    clf = classifier(data, precompute=precompute, tau=0.3)
    apart = Graph.from_edges(data.graph.edges()[0], num_nodes=61)
    x = torch.cat([data.features, torch.ones(1, 6)])
    found = clf.predict_proba(graph=apart, x=x)
    np.testing.assert_allclose(found[:60], clf.predict_proba(), atol=1e-4)
    graph, x = grown(data)
    assert clf.predict_proba(graph=graph, x=x).shape == (70, 3)
    other = contextual_sbm(num_nodes=45, num_classes=3, num_features=6, seed=9)
    assert clf.predict(graph=other.graph, x=other.features).shape == (45,)
    with pytest.raises(ValueError, match="5 (feature )?columns"):
        clf.predict(graph=data.graph, x=data.features[:, :5])


def test_what_is_learned_is_explained(data: NodeDataset) -> None:
    clf = classifier(data, tau=0.4, epochs=30)
    explanation = explain(clf)
    assert explanation.tau == 0.4
    [said] = [one for one in explanation.verdict if one.startswith("All columns share one recurrence: ")]
    expected = (1 - explanation.homophily) * 90
    assert f"meet at {expected:.0f} degrees in the mean, and at " in said
    # One recurrence: all columns have the same frequencies and the same angle, which is that of the homophily.
    assert explanation.curves.frequency_spread[0] < 1e-6
    rotated = explanation.at(tau=0.0).curves.angles
    np.testing.assert_allclose(rotated[np.triu_indices(4, 1)], expected, atol=1e-3)
    # The parts of a prediction add up to it, by hop and by node.
    view = explain_node(clf, 5)
    assert abs(view.gap) < 0.05 * abs(view.score - view.baseline) + 1e-3
    np.testing.assert_allclose(view.by_hop.sum(), view.by_node.sum(), atol=1e-6)
    assert len(feature_importance(clf.model_, data.graph, data.features).features) == 6


def test_numbers_can_be_learned_too(data: NodeDataset) -> None:
    reg = UniFilterRegressor(**{**SMALL, "channels": "shared", "dropout": 0.0, "epochs": 60})
    reg.fit(data.graph, data.features, data.features[:, 0].numpy())
    assert np.isfinite(reg.predict()).all()


def test_settings_left_open_are_chosen_as_ever(data: NodeDataset) -> None:
    clf = UniFilterClassifier(hops=3, hidden_channels=8, epochs=5, channels="shared")
    clf.fit(data.graph, data.features, data.labels)
    assert clf.chosen_["lr"] is not None
    assert clf.model_.method.channels == "shared"


class TestTheWay:
    """Rows before training or the filter in every epoch, by an estimate from sizes alone."""

    @staticmethod
    def faster(nodes: int, channels: int, share: float, batch_size: int | None = None, **options: Any) -> bool:
        random = np.random.default_rng(0)
        graph = Graph.from_edges(random.integers(0, nodes, (2, 4 * nodes)), num_nodes=nodes)
        x: Any = torch.rand(nodes, channels)
        if share < 1:
            x = SparseRows((x * (torch.rand(nodes, channels) < share)).to_sparse_csr())
        model = SharedUniFilter(channels, 3, hidden_channels=128, num_layers=3, **options)
        return rows_are_faster(model, x, graph, (nodes // 2, nodes // 4), batch_size)

    def test_narrow_features_are_computed_before(self) -> None:
        assert self.faster(2000, 20, 1.0)

    def test_wide_sparse_features_are_filtered_in_the_loop(self) -> None:
        assert not self.faster(2000, 3000, 0.01)

    def test_many_batches_speak_for_rows(self) -> None:
        assert self.faster(2000, 3000, 0.01, batch_size=20)

    def test_rows_that_take_gigabytes_are_not_computed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("unifilter.methods.way_of_training._MOST_BYTES", 10_000)
        assert not self.faster(2000, 20, 1.0)

    def test_the_way_is_what_the_estimate_says(self, monkeypatch: pytest.MonkeyPatch) -> None:
        given = planted_problem()
        for answer in (True, False):
            monkeypatch.setattr("unifilter.methods.uni_filter.rows_are_faster", lambda *_, says=answer: says)
            assert UniFilterMethod(channels="shared").build(given).row_wise is answer


def test_one_recurrence_serves_every_setting_and_split(monkeypatch: pytest.MonkeyPatch) -> None:
    given = planted_problem()
    made = []
    monkeypatch.setattr(
        "unifilter.methods.problem.factorize",
        lambda *arguments, **options: made.append(options["channels"]) or _factorize(*arguments, **options),
    )
    for settings in ({"tau": 0.2}, {"tau": "learn"}, {"basis": "jacobi"}, {"precompute": True}):
        UniFilterMethod(hops=4, channels="shared", **settings).build(given)  # type: ignore[arg-type]
    UniFilterMethod(hops=4, channels="shared").build(Problem(given.workspace, given.val, given.train))
    assert made == ["shared"]
    UniFilterMethod(hops=3, channels="shared").build(Problem(Workspace(given.dataset), given.train, given.val))
    assert made == ["shared", "shared"]


def _factorize(*arguments: Any, **options: Any) -> Any:
    from unifilter import factorize

    return factorize(*arguments, **options)


def test_stored_results_of_the_form_of_the_paper_stay_valid() -> None:
    """Their settings do not mention what came later."""
    each, shared = (
        method_cell("unifilter", "cora", "accuracy", {}, "60", 0, changes)
        for changes in ({}, {"channels": "shared", "precompute": False})
    )
    assert not {"channels", "precompute"} & set(each.settings)
    assert (shared.settings["channels"], shared.settings["precompute"]) == ("shared", False)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"channels": "all"}, "channels must be one of"),
        ({"channels": "shared", "formulation": "released"}, 'the released formulation computes .* formulation="paper"'),
        ({"channels": "shared", "weights": "channel"}, 'weights="channel" gives every channel .* weights="hop"'),
        ({"precompute": True}, 'precompute is for channels="shared": leave it out'),
    ],
)
def test_what_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        UniFilterMethod(**settings).build(planted_problem())
