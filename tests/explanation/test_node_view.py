from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from explanation.small_models import CHANNELS, NODES, fitted, small_graph

from unifilter import NodeClassifier, UniFilterClassifier, factorize
from unifilter.bases import Jacobi
from unifilter.explanation import explain_node


def score(clf: UniFilterClassifier, x: np.ndarray, node: int, position: int) -> float:
    logits = clf.model_.logits(small_graph()[0], torch.from_numpy(x))[node]
    return float(logits[position] - logits.mean())


@pytest.mark.parametrize(
    "settings", [{}, {"weights": "channel"}, {"tau": "learn"}, {"basis": "chebyshev"}, {"basis": Jacobi(a=1, b=0)}]
)
def test_contributions_add_up_to_the_score(settings: dict[str, Any]) -> None:
    clf = fitted(**settings)
    view = explain_node(clf, 7)
    assert view.by_hop_and_feature.shape == (5, CHANNELS)
    assert view.by_node_and_feature.shape == (NODES, CHANNELS)
    total = view.score - view.baseline
    for parts in (view.by_hop, view.by_feature, view.by_node):
        assert parts.sum() == pytest.approx(total, abs=1e-6)
    np.testing.assert_allclose(view.by_node_and_feature.sum(axis=0), view.by_feature, atol=1e-9)
    assert abs(view.gap) < 1e-6
    position = clf.classes_.tolist().index(view.predicted)
    assert view.score == pytest.approx(score(clf, small_graph()[1], 7, position), abs=1e-3)
    assert view.predicted == clf.predict([7])[0]


def test_with_batch_norm_the_path_integral_is_nearly_whole() -> None:
    view = explain_node(fitted(batch_norm=True, num_layers=3), 3)
    assert view.baseline != 0
    assert abs(view.gap) < 0.02 * abs(view.score - view.baseline)


def test_of_a_linear_model_a_contribution_is_what_removal_takes_away() -> None:
    clf = fitted(num_layers=1, features="raw")
    _, x, _ = small_graph()
    view = explain_node(clf, 5, target="odd")
    for node, channel in ((5, 0), (8, 3)):
        without = x.copy()
        without[node, channel] = 0
        taken = score(clf, x, 5, 1) - score(clf, without, 5, 1)
        assert view.by_node_and_feature[node, channel] == pytest.approx(taken, abs=1e-4)


def test_a_hop_s_contribution_comes_from_its_basis_vector() -> None:
    clf = fitted(num_layers=1, tau=0.6)
    view = explain_node(clf, 11, target="even")
    graph, x, _ = small_graph()
    fact = factorize(graph, clf.model_.prepare(x), 4)
    basis = fact.basis("uni", tau=0.6, homophily=clf.homophily_)[:, 11]
    layer = clf.model_.network.state_dict()["mlp.layers.0.weight"]
    gradient = layer[0] - layer.mean(dim=0)
    expected = torch.from_numpy(clf.weights_)[:, None] * basis * gradient
    np.testing.assert_allclose(view.by_hop_and_feature, expected.numpy(), atol=1e-4)


def test_the_largest_come_first_with_their_sign() -> None:
    view = explain_node(fitted(), 2)
    top = view.top_features(3)
    assert [abs(value) for _, value in top] == sorted(np.abs(view.by_feature), reverse=True)[:3]
    assert all(view.by_feature[index] == value for index, value in top)
    assert len(view.top_nodes(100)) == NODES
    assert repr(view).startswith("NodeView(node=2, predicted=")


def test_a_loaded_model_explains_any_graph(tmp_path: Path) -> None:
    graph, x, _ = small_graph()
    clf = fitted(features="l2", self_loops="add")
    clf.save(tmp_path / "m.unifilter")
    loaded = UniFilterClassifier.load(tmp_path / "m.unifilter")
    view = explain_node(loaded, 4, graph=graph, x=x)
    np.testing.assert_allclose(view.by_node, explain_node(clf, 4).by_node, atol=1e-9)
    with pytest.raises(ValueError, match="a loaded model has no graph"):
        explain_node(loaded, 4)
    with pytest.raises(ValueError, match="pass both"):
        explain_node(loaded, 4, graph=graph)
    with pytest.raises(ValueError, match="x has 3 feature columns, but the model was trained on 7"):
        explain_node(loaded, 4, graph=graph, x=x[:, :3])


@pytest.mark.parametrize("node", [-1, NODES, 1.5, True])
def test_nodes_that_are_not_there(node: Any) -> None:
    with pytest.raises(ValueError, match=r"there is no node .*: nodes are 0 to 39"):
        explain_node(fitted(epochs=1), node)


def test_classes_that_are_not_there() -> None:
    with pytest.raises(ValueError, match="'blue' is not a class of this model: its classes are 'even', 'odd'"):
        explain_node(fitted(epochs=1), 0, target="blue")
    with pytest.raises(ValueError, match="not fitted yet"):
        explain_node(UniFilterClassifier(), 0)


def test_a_method_without_hops_before_an_mlp_is_refused() -> None:
    graph, x, labels = small_graph()
    clf = NodeClassifier("sgc", epochs=2).fit(graph, x, labels)
    with pytest.raises(ValueError, match="sgc is not a filter followed by an MLP"):
        explain_node(clf, 0)
