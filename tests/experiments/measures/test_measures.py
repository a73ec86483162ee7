from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from unifilter import dirichlet_energy, edge_homophily, factorize
from unifilter.datasets.synthetic import binary_tree, contextual_sbm
from unifilter.experiments.engine.cells import Cell, identity_of, key_of, method_cell
from unifilter.experiments.engine.sources import Sources
from unifilter.experiments.measures import MEASURES, version_of
from unifilter.experiments.measures import energy as energy_module
from unifilter.methods import Workspace, find_method, uni_filter


def measure(workspace: Workspace, name: str, split: str = "", **settings: object) -> dict[str, object]:
    return MEASURES[name].function(workspace, Cell(name, "any", {}, split, settings=settings))


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    return Workspace(contextual_sbm(60, 3, 0.4, average_degree=5, num_features=7, seed=2))


def test_energies_are_those_of_the_vectors(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy_module, "_BLOCK", 60 * 13 * 3)  # several blocks of columns
    taus = [0.0, 0.2, 1.0]
    outcome = measure(workspace, "energy", hops=12, taus=taus, features="raw")
    x = workspace.features("raw").double()
    unit = x / torch.linalg.vector_norm(x, dim=0)
    homophily = edge_homophily(workspace.dataset.graph, workspace.dataset.labels)
    for tau, energies in zip(taus, outcome["energies"], strict=True):  # type: ignore[call-overload]
        basis = factorize(workspace.graph(), unit, 12).basis("uni", tau=tau, homophily=homophily)
        np.testing.assert_allclose(energies, dirichlet_energy(workspace.graph(), basis), rtol=1e-5)
    np.testing.assert_allclose(outcome["start"], dirichlet_energy(workspace.graph(), unit), rtol=1e-9)  # type: ignore


def test_energies_of_a_sample_of_the_columns(workspace: Workspace) -> None:
    assert measure(workspace, "energy", hops=2, taus=[0.5], features="raw", channels=3)["channels"] == 3
    assert measure(workspace, "energy", hops=2, taus=[0.5], features="raw", channels=50)["channels"] == 7


def test_the_homophily_part_of_the_jacobian_is_a_power_of_p() -> None:
    tree = Workspace(binary_tree(depth=4))
    outcome = measure(tree, "jacobian", hops=[1, 3], taus=[1.0], signals=2)
    propagation = tree.graph().propagate(torch.eye(15, dtype=torch.float64))
    neighbors = tree.graph().adjacency().to_dense() > 0
    # At distance 1 the mean of P itself.
    np.testing.assert_allclose(outcome["means"][0][0], propagation[neighbors].mean(), rtol=1e-9)  # type: ignore[index]


def test_the_jacobian_of_the_rotation_is_what_differences_say() -> None:
    tree = Workspace(binary_tree(depth=4))
    from unifilter.bases.heterophily import cosine_of_angle, heterophily_coefficients
    from unifilter.experiments.measures.jacobian import _jacobians, _lanczos_vectors

    propagation = tree.graph().propagate(torch.eye(15, dtype=torch.float64))
    x = torch.from_numpy(np.random.RandomState(0).standard_normal(15))
    _, rotated = _jacobians(propagation, x, 3, cosine_of_angle(0.4))
    row = heterophily_coefficients(torch.tensor(cosine_of_angle(0.4), dtype=torch.float64), 3)[3]
    step = torch.zeros(15, dtype=torch.float64)
    step[4] = 1e-6
    ahead, behind = (row @ _lanczos_vectors(propagation, x + sign * step, 3) for sign in (1, -1))
    np.testing.assert_allclose(rotated[:, 4], (ahead - behind) / 2e-6, atol=1e-6)
    vectors = _lanczos_vectors(propagation, x, 3)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(4), atol=1e-10)


def test_theorem_4_3_holds_for_the_paper_and_not_for_the_published_code(workspace: Workspace) -> None:
    outcome = measure(workspace, "basis", features="raw", channels=7, hops=30, basis_hops=6)
    assert 0 < outcome["angle_error"] < 1e-9  # type: ignore[operator]
    assert outcome["angle_error_released"] > 0.01  # type: ignore[operator]
    assert outcome["exhausted_share"] == 0
    assert outcome["angle_error_exhausted"] is None
    assert outcome["angle_last"] < outcome["angle_first"]  # type: ignore[operator]


def test_indicators_of_all_classes_have_half_of_one_less_homophily(workspace: Workspace) -> None:
    outcome = measure(workspace, "basis", features="raw", channels=7, hops=10, basis_hops=6)
    homophily = edge_homophily(workspace.dataset.graph, workspace.dataset.labels)
    assert outcome["label_frequency"] == pytest.approx((1 - homophily) / 2, abs=1e-12)
    assert outcome["class_frequency_low"] <= outcome["label_frequency"] <= outcome["class_frequency_high"]  # type: ignore


def test_theorem_4_2_on_a_random_regular_graph() -> None:
    outcome = measure(Workspace(Sources().load("random-regular")), "pivot", degrees=[0, 45, 90], signals=16)
    assert outcome["measured"][0] == pytest.approx(0, abs=1e-9)  # type: ignore[index]
    np.testing.assert_allclose(outcome["measured"], outcome["expected"], atol=0.01)  # type: ignore[arg-type]
    # At angle 0 the printed formula says a quarter for the signal of frequency 0.
    assert outcome["printed"][0] == pytest.approx(0.25, abs=0.01)  # type: ignore[index]


def test_directions_of_both_bases_are_those_of_the_vectors(workspace: Workspace) -> None:
    outcome = measure(workspace, "directions", hops=6, features="raw")
    signal = workspace.features("raw").double()[:, [outcome["column"]]]  # type: ignore[index]
    fact = factorize(workspace.graph(), signal, 6)
    smooth = fact.basis("homophily")[:, :, 0]
    smooth = smooth / smooth.norm(dim=1, keepdim=True)
    gram, shown = (smooth @ smooth.T).numpy(), np.array(outcome["smooth"])
    # Three dimensions cannot make an angle larger, and what they leave out is what they do not hold.
    assert np.all(np.linalg.norm(shown, axis=1) <= 1 + 1e-9)
    np.testing.assert_allclose(np.sum(shown**2) / len(shown), outcome["held"], rtol=1e-9)
    np.testing.assert_allclose(np.cos(np.radians(outcome["angles"])), np.diag(gram, 1), atol=1e-9)  # type: ignore[arg-type]
    built = fact.basis("heterophily", homophily=outcome["homophily"])[:3, :, 0]
    np.testing.assert_allclose(outcome["inner"], (built @ built.T).numpy(), atol=1e-9)  # type: ignore[arg-type]
    assert np.allclose(np.triu(outcome["built"], 1), 0)  # type: ignore[call-overload]


def test_an_estimate_needs_training_nodes_alone(workspace: Workspace) -> None:
    outcome = measure(workspace, "estimate", split="random-60-20-20")
    assert outcome["homophily"] == pytest.approx(0.4, abs=0.01)
    assert abs(outcome["estimate"] - 0.4) < 4 * outcome["standard_error"]  # type: ignore[operator]
    assert outcome["train_nodes"] == 36


def test_training_says_scores_weights_and_frequencies(workspace: Workspace) -> None:
    changes = {"hops": 4, "epochs": 3}
    cell = method_cell("unifilter", "any", "accuracy", {}, "random-60-20-20", 0, changes)
    outcome = MEASURES["train"].function(workspace, cell)
    assert 0 <= outcome["test_accuracy"] <= 1
    assert (outcome["epochs"], outcome["train_nodes"], outcome["test_nodes"]) == (3, 36, 12)
    assert len(outcome["weights"]) == len(outcome["frequencies"]) == 5
    fact = workspace.factorization("row", 4)
    expected = fact.frequencies("uni", tau=outcome["tau"], homophily=outcome["homophily"]).mean(dim=1)
    assert outcome["tau"] == outcome["homophily"]
    np.testing.assert_allclose(outcome["frequencies"], expected, atol=1e-5)
    # With weights that are all positive, the filter lets through a mixture of what the vectors have.
    assert min(outcome["frequencies"]) - 0.2 < outcome["filtered_frequency"] < max(outcome["frequencies"])


def test_other_methods_have_scores_alone(workspace: Workspace) -> None:
    cell = method_cell("mlp", "any", "accuracy", {}, "random-60-20-20", 0, {"epochs": 2, "features": "raw"})
    outcome = MEASURES["train"].function(workspace, cell)
    assert "test_accuracy" in outcome
    assert "weights" not in outcome


def test_rows_do_not_say_which_classes_their_split_leaves_out() -> None:
    """The split of a row decides that; stored rows stay as they are."""
    made = contextual_sbm(60, 3, 0.4, average_degree=5, num_features=7, seed=2)
    rare = Workspace(replace(made, labels=torch.arange(60) // 54))
    cell = method_cell("mlp", "any", "accuracy", {}, "random-60-20-20", 0, {"epochs": 2})
    outcome = MEASURES["train"].function(rare, cell)
    assert "test_accuracy" in outcome
    assert not [name for name in outcome if name.endswith("_classes")]
    pytest.importorskip("optuna")
    settings = {"metric": "accuracy", "trials": 1, "epochs": 2, "space": {"dropout": [0.0, 0.5]}}
    assert "chosen" in MEASURES["tuned"].function(rare, Cell("tuned", "any", {}, cell.split, 0, "mlp", settings))


def test_settings_can_be_chosen_on_the_validation_nodes(workspace: Workspace) -> None:
    pytest.importorskip("optuna")
    space = find_method("unifilter").search_space
    settings = {"metric": "accuracy", "trials": 2, "epochs": 2, "space": space}
    cell = Cell("tuned", "any", {}, "random-60-20-20", 0, "unifilter", settings)
    outcome = MEASURES["tuned"].function(workspace, cell)
    assert set(outcome["chosen"]) <= set(find_method("unifilter").search_space)
    assert outcome["epochs"] == 2


def test_a_cells_version_is_its_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell("train", "any", {}, method="mlp")
    assert version_of(cell) == find_method("mlp").version
    monkeypatch.setattr(find_method("mlp"), "version", 7)
    assert version_of(cell) == 7
    assert version_of(Cell("energy", "any", {})) == 1


def test_what_is_left_open_is_told_with_what_was_tried_and_chosen(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {"epochs": 2, "hops": 2, "hidden_channels": 8, "lr": 0.01}
    cell = method_cell("unifilter", "any", "accuracy", {}, "random-60-20-20", 0, changes)
    tried = cell.settings["candidates"]
    assert len(tried) == len(uni_filter._OPEN)
    assert all(sorted(one) == ["basis_dropout", "batch_norm", "dropout", "weight_decay"] for one in tried)
    assert MEASURES["train"].function(workspace, cell)["chosen"] in tried
    closed = method_cell("mlp", "any", "accuracy", {}, "random-60-20-20", 0, {"epochs": 2})
    assert "candidates" not in closed.settings
    # Another thing to choose from is another cell.
    monkeypatch.setattr(uni_filter, "_OPEN", uni_filter._OPEN[1:])
    other = method_cell("unifilter", "any", "accuracy", {}, "random-60-20-20", 0, changes)
    assert key_of(identity_of(other, "", "", 1)) != key_of(identity_of(cell, "", "", 1))
