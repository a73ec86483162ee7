from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from small_estimator import refit

from unifilter.data import NodeDataset
from unifilter.methods.uni_filter import UniFilterMethod
from unifilter.training import DivergedWarning, trainer


def test_a_refit_touches_the_graph_once(data: NodeDataset, factorizations: list[int]) -> None:
    clf = refit(data)
    clf.set_params(tau=0.9, basis="chebyshev", homophily=0.2).fit(data.graph, data.features, data.labels)
    relabeled = data.labels.flip(0)
    clf.fit(data.graph, data.features.numpy(), relabeled, train=range(30))
    assert factorizations == [3]
    # The labels are those of the last fit all the same.
    assert torch.equal(clf.data_.labels, relabeled)
    # Fewer hops are a part of what is there; more are not, nor are other features.
    clf.set_params(hops=2).fit(data.graph, data.features, data.labels)
    assert factorizations == [3]
    clf.set_params(hops=4).fit(data.graph, data.features, data.labels)
    clf.fit(data.graph, data.features + 1, data.labels)
    assert factorizations == [3, 4, 4]


def test_a_sweep_touches_no_graph_and_keeps_the_best(data: NodeDataset, factorizations: list[int]) -> None:
    clf = refit(data)
    rows = clf.sweep(tau=[0.0, 0.5, "learn"], homophily=[None, 0.3])
    assert factorizations == [3]
    assert [row.settings for row in rows] == [
        {"tau": tau, "homophily": homophily} for tau in (0.0, 0.5, "learn") for homophily in (None, 0.3)
    ]
    best = max(rows, key=lambda row: row.val_score)
    assert {"tau": clf.tau, "homophily": clf.homophily} == best.settings
    assert clf.history_.best_score == best.val_score
    # It is the model that a fit with these settings gives.
    again = refit(data, **best.settings)
    np.testing.assert_array_equal(clf.predict_proba(), again.predict_proba())
    assert clf.model_.requested.tau == best.settings["tau"]
    with pytest.raises(ValueError, match="there is nothing to try: pass at least one value of some setting"):
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
    with pytest.raises(ValueError, match="the setting batch_norm of unifilter must be true or false, not 'yes'"):
        refit(data, batch_norm="yes")
    with pytest.raises(ValueError, match="batch_norm must be True, False or None, which tries both, not 'yes'"):
        UniFilterMethod(batch_norm="yes").candidates()


@pytest.mark.parametrize("dataset", UniFilterMethod.presets)
def test_published_settings_leave_nothing_open(dataset: str) -> None:
    method = UniFilterMethod.preset(dataset)
    assert list(method.candidates()) == [method]
