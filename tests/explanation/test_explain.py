from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from explanation.small_models import CHANNELS, fitted, small_graph
from real_graphs import needs_data, real_graph

from unifilter import Graph, NodeClassifier, UniFilterClassifier, edge_homophily, estimate_homophily, factorize
from unifilter.data import NodeDataset
from unifilter.datasets import load_dataset
from unifilter.explanation import SpectralExplanation, explain
from unifilter.explanation.curves import GRID
from unifilter.factorization.typical import possible_energy, weighted_quartiles, with_signal
from unifilter.methods import find_method
from unifilter.runs import Run, RunFolder, typical_response


def explained(**options: Any) -> SpectralExplanation:
    graph, x, labels = small_graph()
    return explain(factorize(graph, x, 4), graph=graph, labels=labels, **options)


def test_a_factorization_with_its_graph_and_labels() -> None:
    graph, _, labels = small_graph()
    found = explained(tau=0.7, class_names=("even", "odd"))
    assert (found.nodes, found.edges, found.channels, found.hops) == (40, graph.num_edges, CHANNELS, 4)
    assert (found.tau, found.homophily) == (0.7, edge_homophily(graph, labels))
    assert found.homophily_from == "edge homophily of all labels"
    assert found.labels is not None
    assert [one.name for one in found.labels.classes] == ["even", "odd"]
    assert repr(found).startswith("SpectralExplanation('graph', hops=4, channels=7, tau=0.7, homophily=0.")
    assert str(found).splitlines()[1:] == list(found.verdict)


def test_homophily_from_training_labels_never_sees_the_others() -> None:
    graph, _, labels = small_graph()
    train = np.arange(20)
    found = explained(train=train)
    hidden = np.where(np.arange(40) < 20, labels, 1 - labels)
    assert found.homophily == float(estimate_homophily(graph, hidden, train))
    assert found.homophily_from == "estimated from training labels"


def test_signals_alone_need_a_homophily() -> None:
    graph, x, _ = small_graph()
    fact = factorize(graph, x, 4)
    found = explain(fact, homophily=0.3)
    assert (found.nodes, found.labels, found.tau, found.homophily_from) == (None, None, 0.5, "given")
    with pytest.raises(
        ValueError, match="no labels to estimate the homophily from: pass homophily=0.5, or graph and labels"
    ):
        explain(fact)
    with pytest.raises(ValueError, match=r"pass it too, explain\(fact, graph=graph, labels=labels\)"):
        explain(fact, labels=[0] * 40)


def test_a_model_brings_all_it_was_trained_with() -> None:
    clf = fitted(tau=0.3)
    graph, _, _ = small_graph()
    found = explain(clf)
    assert (found.tau, found.homophily) == (0.3, clf.homophily_)
    assert found.nodes == graph.num_nodes
    assert found.weight is not None
    np.testing.assert_allclose(found.weight, clf.weights_, rtol=1e-6)
    np.testing.assert_array_equal(found.weight_spread, np.zeros(5))
    assert found.labels is not None
    assert [one.name for one in found.labels.classes] == ["even", "odd"]
    changed = explain(clf, tau=0.9, homophily=0.1)
    assert (changed.tau, changed.homophily, changed.homophily_from) == (0.9, 0.1, "given")


def test_a_loaded_model_has_no_labels_but_a_filter(tmp_path: Path) -> None:
    clf = fitted()
    clf.save(tmp_path / "m.unifilter")
    found = explain(UniFilterClassifier.load(tmp_path / "m.unifilter"))
    assert found.labels is None
    np.testing.assert_array_equal(found.curves.response, explain(clf).curves.response)


@pytest.mark.parametrize(
    ("basis", "expected"),
    [("homophily", (1.0, 0.0)), ("orthonormal", (0.0, 0.0)), ("heterophily", (0.0, 0.4))],
)
def test_other_bases_are_corners_of_the_universal_one(basis: str, expected: tuple[float, float]) -> None:
    clf = fitted(basis=basis, homophily=0.4 if basis == "heterophily" else None)
    found = explain(clf)
    assert (found.tau, found.homophily) == expected
    # The response of the explanation is that of the model itself.
    response = clf.model_.response(torch.linspace(0, 2, 61).double())
    assert response is not None
    signals = with_signal(found.tridiagonal)[0]
    energy = possible_energy(signals.orthonormal_polynomials(torch.from_numpy(GRID)))
    expected_response = weighted_quartiles(response.numpy(), energy.numpy())[1]
    np.testing.assert_allclose(found.curves.response, expected_response, rtol=2e-3, atol=2e-4)


def test_a_weight_per_channel() -> None:
    clf = fitted(weights="channel")
    found = explain(clf)
    assert found.filter_weights.shape == (5, CHANNELS)
    np.testing.assert_allclose(found.weight, clf.weights_.mean(axis=1), rtol=1e-5)


def test_learned_tau_is_what_was_learned() -> None:
    clf = fitted(tau="learn", theta="learn")
    assert (explain(clf).tau, explain(clf).homophily) == (clf.tau_, clf.homophily_)


def test_at_moves_tau_and_homophily_alone() -> None:
    found = explained()
    moved = found.at(tau=0.2, homophily=0.9)
    direct = explained(tau=0.2, homophily=0.9)
    np.testing.assert_array_equal(moved.curves.frequency, direct.curves.frequency)
    np.testing.assert_array_equal(moved.curves.response, direct.curves.response)
    assert moved.labels is found.labels
    assert found.at(tau=0.2).homophily == found.homophily
    with pytest.raises(ValueError, match="tau must lie in"):
        found.at(tau=1.5)


def test_weights_of_several_splits() -> None:
    weights = np.array([[1.0, 0, 0, 0, -1], [3.0, 0, 0, 0, -1]])
    found = explained(weights=weights)
    np.testing.assert_array_equal(found.weight, [2, 0, 0, 0, -1])
    np.testing.assert_array_equal(found.weight_spread, [1, 0, 0, 0, 0])
    assert json.loads(found.to_json())["splits"] == 2


def test_the_numbers_as_json() -> None:
    graph, x, labels = small_graph()
    # Three nodes more: an edge apart from the rest, and an isolated node.
    edges = torch.cat([graph.edges()[0], torch.tensor([[40], [41]])], dim=1)
    larger = Graph.from_edges(edges, num_nodes=43)
    features = np.zeros((43, CHANNELS + 2))
    features[:40, :CHANNELS] = x
    features[40, CHANNELS] = 1
    numbers = json.loads(
        explain(factorize(larger, features, 4), graph=larger, labels=np.r_[labels, -1, -1, -1]).to_json()
    )
    assert numbers["krylov"] == {
        "dimension": {"0": 1, "2": 1, "5": CHANNELS},
        "broken_down": [CHANNELS],
        "zero_columns": [CHANNELS + 1],
    }
    assert len(numbers["frequency"]) == 5
    assert len(numbers["lam"]) == len(numbers["response"]) == len(numbers["feature_energy"]["share"]) == 61
    assert numbers["weight"] is None
    assert set(numbers["labels"]["homophily"]) == {"edge", "node", "class", "adjusted"}
    assert numbers["verdict"][-1].startswith("1 of 9 channels span fewer than 5 dimensions; 1 of 9 has no signal")


def karate_run(folder: Path, dataset: NodeDataset | None = None, method: str = "unifilter", **settings: Any) -> Run:
    built = find_method(method).with_settings({"epochs": 6, "hops": 3, **settings})
    run = Run(folder, built, dataset or load_dataset("karate"), "60", 2)
    for _ in run.train(verbose=False):
        pass
    return run


def test_a_run_brings_the_weights_of_every_split(tmp_path: Path) -> None:
    run = karate_run(tmp_path / "run", tau=0.8)
    found = explain(tmp_path / "run")
    weights = np.array([record["weights"] for record in run.records])
    np.testing.assert_allclose(found.weight, weights.mean(axis=0))
    np.testing.assert_allclose(found.weight_spread, weights.std(axis=0))
    assert found.name == "karate, unifilter"
    assert (found.tau, found.homophily) == (0.8, np.mean([record["homophily"] for record in run.records]))
    assert found.homophily_from == "mean of 2 splits"
    assert found.nodes == 34


def test_a_run_that_learned_tau_and_a_weight_per_channel(tmp_path: Path) -> None:
    karate_run(tmp_path / "run", tau="learn", weights="channel")
    found = explain(str(tmp_path / "run"))
    assert 0 < found.tau < 1
    assert found.homophily_from == "of the best split's model"
    assert found.filter_weights.shape == (4, 34)


def test_a_run_on_files_finds_them_again_and_notices_a_change(tmp_path: Path) -> None:
    data = tmp_path / "mine"
    data.mkdir()
    (data / "nodes.csv").write_text("id,x,label\n" + "".join(f"n{i},{i % 5},{i % 2}\n" for i in range(20)))
    (data / "edges.csv").write_text("source,target\n" + "".join(f"n{i},n{(i * 3 + 2) % 20}\n" for i in range(20)))
    karate_run(tmp_path / "run", load_dataset(data), homophily=0.5)
    assert explain(tmp_path / "run").name == "mine, unifilter"
    (data / "nodes.csv").write_text("id,x,label\n" + "".join(f"n{i},{i % 4},{i % 2}\n" for i in range(20)))
    with pytest.raises(ValueError, match="'mine' differs from the one the run was trained on"):
        explain(tmp_path / "run")


def test_what_cannot_be_explained(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="explain takes a Factorization, a fitted estimator, a TrainedModel or"):
        explain(small_graph()[0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not fitted yet"):
        explain(UniFilterClassifier())
    with pytest.raises(FileNotFoundError, match=r"contains no run \(it has no config.json"):
        explain(tmp_path)
    with pytest.raises(
        ValueError, match=r"weights must have shape \[5\], \[splits, 5\] or \[splits, 5, 7\], not \[4\]"
    ):
        explained(weights=[1, 2, 3, 4])
    with pytest.raises(ValueError, match="label_hops must be a whole number"):
        explained(label_hops=0)


def trained_run(folder: Path, method: str) -> Path:
    built = find_method(method).with_settings({"epochs": 2})
    for _ in Run(folder, built, load_dataset("karate"), "60", 1).train(verbose=False):
        pass
    return folder


def test_a_method_without_a_filter_says_so(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="mlp learns no filter that is a function of the eigenvalues"):
        explain(trained_run(tmp_path / "run", "mlp"))


def test_a_run_of_any_method_with_a_filter_is_explained_by_its_response(tmp_path: Path) -> None:
    folder = trained_run(tmp_path / "run", "bernnet")
    found = explain(folder)
    assert (found.name, found.weights) == ("karate, bernnet", None)
    response = RunFolder(folder).model().response(GRID)
    assert response is not None
    np.testing.assert_allclose(found.curves.response, response[:, 0], rtol=1e-6)
    # No slider moves a filter that is not on the universal basis.
    np.testing.assert_array_equal(found.at(tau=0.1).curves.response, found.curves.response)
    assert found.to_dict()["response_is_learned"]
    assert "karate, bernnet" in found.to_html()


@pytest.mark.parametrize("settings", [{"basis": "chebyshev"}, {"formulation": "released", "homophily": 0.5}])
def test_another_basis_is_explained_by_its_response(settings: dict[str, Any]) -> None:
    clf = fitted(**settings)
    found = explain(clf)
    assert found.weights is None
    np.testing.assert_allclose(found.curves.response, typical_response(clf.model_, GRID))
    assert found.plot().axes[2].get_title() == "Filter response"


def test_a_model_alone_needs_its_data_where_it_was_not_factored() -> None:
    graph, x, labels = small_graph()
    model = NodeClassifier("gprgnn", epochs=2).fit(graph, x, labels).model_
    with pytest.raises(ValueError, match="a gprgnn model does not contain the spectrum of its features"):
        explain(model)
    assert (
        explain(model, dataset=NodeDataset("small", graph, torch.from_numpy(x), torch.from_numpy(labels))).nodes == 40
    )


def test_an_unfinished_run_says_so(tmp_path: Path) -> None:
    Run(tmp_path / "run", find_method("unifilter").with_settings({}), load_dataset("karate"), "60", 1)
    with pytest.raises(ValueError, match="has no finished split yet"):
        explain(tmp_path / "run")


@needs_data
@pytest.mark.parametrize(
    ("name", "published"), [("cora", 0.9049213), ("citeseer", 0.8306937), ("chameleon", 0.99189526)]
)
def test_the_paper_s_frequencies_of_the_signals(name: str, published: float) -> None:
    """Figure 2 prints twice the frequency of Definition 2.2; features may be raw or row-normalized there."""
    graph, x, labels = real_graph(name)
    found = explain(factorize(graph, x, 2), graph=graph, labels=labels)
    assert 2 * found.curves.frequency[0] == pytest.approx(published, abs=0.015)


@needs_data
def test_minesweeper_s_edge_homophily_is_not_to_be_trusted() -> None:
    graph, x, labels = real_graph("minesweeper")
    found = explain(factorize(graph, x, 4), graph=graph, labels=labels)
    assert found.verdict[1].startswith("Edge homophily 0.68 but adjusted 0.01: do not trust the edge measure here")
