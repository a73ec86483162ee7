from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from explanation.one_feature import DECISIVE, fitted_on_planted, planted
from explanation.small_models import CHANNELS, NODES, fitted, small_graph

from unifilter import NodeClassifier, UniFilterClassifier
from unifilter.explanation import Importance, explain_node, feature_importance


def importance(clf: UniFilterClassifier, **options: Any) -> Importance:
    graph, x, _ = small_graph()
    return feature_importance(clf.model_, graph, x, **options)


@pytest.mark.parametrize(
    "settings", [{}, {"weights": "channel"}, {"tau": "learn"}, {"basis": "even"}, {"self_loops": "add"}]
)
def test_it_is_the_mean_over_the_views_of_nodes(settings: dict[str, Any]) -> None:
    clf = fitted(**{"batch_norm": False, **settings})
    found = importance(clf, baseline="zero")
    views = [explain_node(clf, node) for node in range(NODES)]
    np.testing.assert_allclose(found.features, np.abs([view.by_feature for view in views]).mean(axis=0), atol=1e-9)
    assert found.hops is not None
    np.testing.assert_allclose(found.hops, np.abs([view.by_hop for view in views]).mean(axis=0), atol=1e-9)
    assert found.per_class_hops is not None
    for position, name in enumerate(found.classes):
        of_class = [view for view in views if view.predicted == name]
        assert found.class_nodes[position] == len(of_class)
        expected = np.mean([view.by_feature for view in of_class], axis=0)
        np.testing.assert_allclose(found.per_class_features[position], expected, atol=1e-9)
        np.testing.assert_allclose(
            found.per_class_hops[position], np.mean([view.by_hop for view in of_class], axis=0), atol=1e-9
        )
    assert found.gap is not None
    assert found.gap < 1e-9


@pytest.mark.parametrize("batch_norm", [False, True])
def test_contributions_add_up_to_the_score(batch_norm: bool) -> None:
    clf = fitted(batch_norm=batch_norm, num_layers=3)
    for node in (0, 7, 19):
        found = importance(clf, nodes=[node], baseline="zero")
        view = explain_node(clf, node)
        position = found.classes.tolist().index(view.predicted)
        assert found.per_class_hops is not None
        by_hop, by_feature = found.per_class_hops[position].sum(), found.per_class_features[position].sum()
        assert by_hop == pytest.approx(by_feature)
        assert found.gap is not None
        total = view.score - view.baseline
        assert abs(by_feature - total) == pytest.approx(found.gap * abs(total), abs=1e-9)
        assert found.gap < (0.05 if batch_norm else 1e-9)
        np.testing.assert_array_equal(found.hops, np.abs(found.per_class_hops[position]))


@pytest.mark.parametrize("hop", [0, 1])
def test_the_one_feature_and_hop_that_matter_are_found(hop: int) -> None:
    graph, x, _ = planted(hop)
    found = feature_importance(fitted_on_planted(hop).model_, graph, x)
    assert found.hops is not None
    assert found.per_class_hops is not None
    for values in (found.features, *np.abs(found.per_class_features)):
        assert values.argmax() == DECISIVE
        assert (np.delete(values, DECISIVE) < values[DECISIVE] / 10).all()
    for values in (found.hops, *np.abs(found.per_class_hops)):
        assert values[1 - hop] < values[hop] / 10
    # Both classes are predicted because of it.
    assert (found.per_class_features[:, DECISIVE] > 0).all()


@pytest.mark.parametrize("batch_norm", [False, True])
def test_against_the_average_node_contributions_add_up_too(batch_norm: bool) -> None:
    found = importance(fitted(batch_norm=batch_norm, num_layers=3))
    assert found.gap is not None
    assert found.gap < 0.05
    assert found.per_class_hops is not None
    np.testing.assert_allclose(found.per_class_hops.sum(axis=1), found.per_class_features.sum(axis=1), rtol=1e-6)


def test_what_all_nodes_have_in_common_does_not_count() -> None:
    """On a ring every node has the same degree, and a constant column is constant after any filter."""
    graph, x, y = planted(0)
    common = np.concatenate([x, np.full((len(x), 1), 3, dtype=np.float32)], axis=1)
    clf = UniFilterClassifier(hops=2, epochs=20, hidden_channels=8, features="raw", homophily=0.5).fit(graph, common, y)
    against_mean = feature_importance(clf.model_, graph, common)
    against_zero = feature_importance(clf.model_, graph, common, baseline="zero")
    assert against_mean.features[-1] < 1e-3 * against_mean.features.max()
    assert against_zero.features[-1] > 1e-2 * against_zero.features.max()


def test_columns_of_a_group_are_added_up_with_their_signs() -> None:
    clf = fitted(batch_norm=False)
    alone = importance(clf, nodes=[3])
    grouped = importance(clf, nodes=[3], groups=[0, 0, 1, 2, 1, 0, 2], names=["a", "b", "c"])
    position = int(alone.class_nodes.argmax())
    signed = alone.per_class_features[position]
    expected = [signed[[0, 1, 5]].sum(), signed[[2, 4]].sum(), signed[[3, 6]].sum()]
    np.testing.assert_allclose(grouped.per_class_features[position], expected)
    np.testing.assert_allclose(grouped.features, np.abs(expected))
    np.testing.assert_array_equal(grouped.hops, alone.hops)
    assert grouped.names == ("a", "b", "c")
    # Of several nodes, the sum comes before the absolute value.
    both, one = importance(clf, groups=[0] * CHANNELS), importance(clf)
    assert both.features[0] < one.features.sum()


def test_features_may_be_sparse() -> None:
    graph, x, _ = small_graph()
    dense = importance(fitted())
    sparse = feature_importance(fitted().model_, graph, sp.csr_array(x))
    np.testing.assert_allclose(sparse.features, dense.features)


def test_nodes_are_drawn_by_the_seed() -> None:
    clf = fitted()
    some = importance(clf, max_nodes=10, seed=1)
    assert some.class_nodes.sum() == 10
    np.testing.assert_array_equal(some.features, importance(clf, max_nodes=10, seed=1).features)
    assert not np.array_equal(some.features, importance(clf, max_nodes=10, seed=2).features)
    mask = np.arange(NODES) < 10
    np.testing.assert_array_equal(
        importance(clf, nodes=mask, max_nodes=10, seed=0).features, importance(clf, nodes=range(10)).features
    )


def test_work_in_small_blocks_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    clf = fitted(batch_norm=True)
    whole = importance(clf)
    monkeypatch.setattr("unifilter.explanation.filter_parts._ENTRIES", 500)
    blocks = importance(clf)
    np.testing.assert_allclose(blocks.features, whole.features)
    np.testing.assert_allclose(blocks.hops, whole.hops)


def test_plain_values() -> None:
    found = importance(fitted(), nodes=[3], names=list("abcdefg"))
    plain = found.to_dict(top=2)
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["measure"] == "score"
    assert plain["nodes"] == 1
    assert found.hops is not None
    assert plain["hops"] == found.hops.tolist()
    assert [entry["name"] for entry in plain["features"]] == [name for name, _ in found.top_features(2)]
    assert plain["features"][0]["value"] == found.features.max()
    # The class that is predicted nowhere has nothing to show.
    by_nodes = {entry["nodes"]: entry for entry in plain["classes"]}
    assert by_nodes[0]["features"] == []
    assert by_nodes[0]["hops"] is None
    assert len(by_nodes[1]["features"]) == 2
    assert np.isnan(found.per_class_features[found.class_nodes == 0]).all()
    assert repr(found) == "Importance('score', nodes=1, hops=4, features=7, classes=2)"
    with pytest.raises(ValueError, match="top must be a whole number of at least 1, not 0"):
        found.to_dict(top=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nodes": []}, "nodes is empty: pass some nodes, or leave nodes out for all"),
        ({"nodes": [NODES]}, "nodes names node 40, which does not exist"),
        ({"baseline": "half"}, "baseline must be one of 'mean', 'zero', not 'half'"),
        ({"max_nodes": 0}, "max_nodes must be a whole number of at least 1, not 0"),
        ({"groups": [0, 1]}, r"groups must be 7 integers from 0, one for each feature column, not \[2\]"),
        ({"groups": [-1] * 7}, "groups must be 7 integers from 0"),
        ({"groups": [0.5] * 7}, "groups must be 7 integers from 0"),
        ({"groups": [0, 0, 0, 2, 2, 3, 3]}, "group 1 has no columns: count groups from 0 without leaving one out"),
        ({"names": ["a"]}, "there are 1 names for 7 features: name each column, or each group"),
    ],
)
def test_mistakes(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        importance(fitted(), **options)


def test_other_methods_are_sent_to_permutation() -> None:
    graph, x, labels = small_graph()
    clf = NodeClassifier("sgc", epochs=2).fit(graph, x, labels)
    with pytest.raises(ValueError, match="sgc is not a filter followed by an MLP.*use permutation_importance"):
        feature_importance(clf.model_, graph, x)
    with pytest.raises(ValueError, match="x has 3 feature columns, but the model was trained on 7"):
        feature_importance(fitted().model_, graph, x[:, :3])


def test_a_column_of_zeros_brings_nothing() -> None:
    graph, x, labels = small_graph()
    with_zeros = np.concatenate([x, np.zeros((NODES, 1), dtype=np.float32)], axis=1)
    clf = UniFilterClassifier(hops=2, epochs=3, hidden_channels=4).fit(graph, with_zeros, labels)
    found = feature_importance(clf.model_, graph, with_zeros)
    assert found.features[-1] == 0
    assert (found.features[:-1] > 0).all()
