from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from dense import propagation_matrix
from planted import planted_problem, problem_of
from strategies import connected_graph

from unifilter import Graph, estimate_homophily, factorize
from unifilter.bases import Jacobi
from unifilter.estimators import fit
from unifilter.factorization import BasisRows
from unifilter.methods import METHODS, Learner, Problem, Workspace, problem
from unifilter.methods.uni_filter import HetFilterMethod, HomFilterMethod, OrtFilterMethod, UniFilterMethod
from unifilter.nn import UniFilter

VARIANTS: list[tuple[type[UniFilterMethod], str]] = [
    (UniFilterMethod, "uni"),
    (HomFilterMethod, "homophily"),
    (HetFilterMethod, "heterophily"),
    (OrtFilterMethod, "orthonormal"),
]


@pytest.fixture
def factorizations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The hops of every factorization that is computed."""
    hops: list[int] = []

    def counted(graph: Graph, features: Any, number: int) -> Any:
        hops.append(number)
        return factorize(graph, features, number)

    monkeypatch.setattr(problem, "factorize", counted)
    return hops


def model_of(learner: Learner) -> UniFilter:
    assert isinstance(learner.model, UniFilter)
    return learner.model


def with_labels(given: Problem, labels: torch.Tensor) -> Problem:
    return Problem(Workspace(replace(given.dataset, labels=labels)), given.train, given.val)


def test_one_factorization_serves_every_setting(factorizations: list[int]) -> None:
    given = planted_problem()
    settings: list[dict[str, Any]] = [
        *({"tau": tau, "homophily": homophily} for tau in (0.0, 0.4, 1.0) for homophily in (0.1, 0.9, None)),
        {"tau": "learn"},
        {"theta": "learn"},
        {"formulation": "released"},
        {"basis": "chebyshev"},
        {"weights": "channel"},
        {"hidden_channels": 7, "num_layers": 3},
    ]
    for setting in settings:
        UniFilterMethod(hops=4, **setting).build(given)
    for method, _ in VARIANTS[1:]:
        method(hops=4).build(given)
    other_split = Problem(given.workspace, given.val, given.train)
    UniFilterMethod(hops=4).build(other_split)
    assert factorizations == [4]


@pytest.mark.parametrize("change", [{"hops": 5}, {"features": "l2"}, {"self_loops": "add"}])
def test_other_hops_features_or_loops_need_another(factorizations: list[int], change: dict[str, Any]) -> None:
    given = planted_problem()
    for _ in range(2):
        UniFilterMethod(hops=4).build(given)
        UniFilterMethod(**{"hops": 4} | change).build(given)
    assert len(factorizations) == 2


@pytest.mark.parametrize(("method", "basis"), VARIANTS)
def test_each_variant_reads_its_basis(method: type[UniFilterMethod], basis: str) -> None:
    given = planted_problem()
    learner = method(hops=4, tau=0.3, homophily=0.6, hidden_channels=8).build(given)
    fact = given.workspace.factorization("row", 4)
    parameters = {"uni": {"tau": 0.3, "homophily": 0.6}, "heterophily": {"homophily": 0.6}}.get(basis, {})
    rows = BasisRows.from_factorization(fact, basis, **parameters).dense()
    learner.model.eval()
    nodes = torch.tensor([3, 40, 11])
    torch.testing.assert_close(learner.forward(nodes), learner.model(rows[nodes]))
    assert METHODS[method.name] is method


@pytest.mark.parametrize("homophily", [None, 0.0, 0.6])
def test_tau_is_the_homophily_unless_it_is_given(homophily: float | None) -> None:
    given = planted_problem()
    learner = UniFilterMethod(hops=4, homophily=homophily).build(given)
    used = learner.shape.facts["homophily"]
    assert learner.shape.facts["tau"] == used == (used if homophily is None else homophily)
    learner.model.eval()
    rows = BasisRows.from_factorization(given.workspace.factorization("row", 4), "uni", tau=used, homophily=used)
    nodes = torch.tensor([3, 40, 11])
    torch.testing.assert_close(learner.forward(nodes), learner.model(rows[nodes]))
    assert UniFilterMethod(hops=4, tau=0.2).build(given).shape.facts["tau"] == 0.2


def test_a_tau_that_is_learned_starts_at_the_homophily() -> None:
    for setting in ({"tau": "learn"}, {"theta": "learn"}, {"tau": "learn", "theta": "learn"}):
        learned = model_of(UniFilterMethod(hops=4, homophily=0.3, **setting).build(planted_problem())).learned_basis
        assert learned is not None
        assert (learned.tau.item(), learned.homophily.item()) == (pytest.approx(0.3), pytest.approx(0.3))


def test_scaled_features_and_added_loops_are_what_is_factored() -> None:
    given = planted_problem()
    fact = given.workspace.factorization("row", 3, "add")
    words = given.dataset.features.to_dense()
    words = words / words.sum(dim=1, keepdim=True).clamp(min=1)
    edges, _ = given.dataset.graph.edges()
    expected = factorize(Graph.from_edges(edges, given.dataset.num_nodes, self_loops="add"), words, 3)
    torch.testing.assert_close(fact.basis("homophily"), expected.basis("homophily"))


@pytest.mark.parametrize(
    "setting",
    [
        {"tau": 0.3},
        {"formulation": "released"},
        {"tau": "learn"},
        {"tau": 0.7, "theta": "learn"},
        {"weights": "channel"},
        {"tau": "learn", "theta": "learn", "weights": "channel"},
        {"basis": "homophily"},
        {"basis": "heterophily"},
        {"basis": "orthonormal"},
        {"basis": "bernstein"},
        {"basis": "even"},
        {"basis": Jacobi(1.0, 0.5)},
    ],
)
def test_the_response_is_what_the_filter_does_to_the_graph(setting: dict[str, Any]) -> None:
    graph = connected_graph(30)
    words = np.random.default_rng(0).random((30, 4))
    words[:, 2] = 0
    given = problem_of(graph, words, np.arange(30) % 3)
    learner = UniFilterMethod(features="raw", hops=4, **setting).build(given)
    model = model_of(learner)
    torch.manual_seed(0)
    torch.nn.init.normal_(model.filter_weights)

    eigenvalues, vectors = np.linalg.eigh(np.eye(30) - propagation_matrix(graph))
    response = model.response(torch.from_numpy(eigenvalues))
    assert response is not None
    gain = response.double().numpy()
    assert gain.shape == (30, 4)
    x = given.dataset.features.to_dense().double().numpy()
    expected = vectors @ (gain * (vectors.T @ x))

    filtered: list[torch.Tensor] = []
    model.eval()
    model.mlp.register_forward_pre_hook(lambda _, inputs: filtered.append(inputs[0]))
    learner.forward(torch.arange(30))
    np.testing.assert_allclose(filtered[0].detach().numpy(), expected, atol=2e-4 * np.abs(expected).max())
    assert not gain[:, 2].any()


@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_response_takes_eigenvalues_of_any_shape(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    learner = UniFilterMethod(hops=3).build(planted_problem())
    response = learner.model.response(torch.full(shape, 0.5, dtype=dtype))
    assert response is not None
    assert response.shape == (*shape, 12)
    assert not response.requires_grad


@pytest.mark.parametrize("setting", [{"tau": "learn"}, {"theta": "learn"}, {"tau": "learn", "theta": "learn"}])
def test_what_is_to_be_learned_is_learned_and_the_rest_stays(setting: dict[str, Any]) -> None:
    given = planted_problem()
    method = UniFilterMethod(**{"hops": 3, "tau": 0.4, "homophily": 0.6, "epochs": 5, "filter_lr": 0.1} | setting)
    network = fit(method, given).model.network
    assert isinstance(network, UniFilter)
    learned = network.learned_basis
    assert learned is not None
    tau = 0.5 if "tau" in setting else 0.4
    assert (float(learned.tau.detach()) == pytest.approx(tau)) == ("tau" not in setting)
    assert (float(learned.homophily.detach()) == pytest.approx(0.6)) == ("theta" not in setting)


def test_homophily_is_estimated_from_the_training_labels_alone() -> None:
    given = planted_problem()
    labels = given.dataset.labels
    estimate = UniFilterMethod(hops=2).build(given).shape.facts["homophily"]
    assert estimate == float(estimate_homophily(given.dataset.graph, labels, given.train))

    others = np.setdiff1d(np.arange(len(labels)), given.train)
    changed = labels.clone()
    changed[others] = (changed[others] + 1) % 3
    assert UniFilterMethod(hops=2).build(with_labels(given, changed)).shape.facts["homophily"] == estimate

    changed = labels.clone()
    changed[given.train[:12]] = (changed[given.train[:12]] + 1) % 3
    assert UniFilterMethod(hops=2).build(with_labels(given, changed)).shape.facts["homophily"] != estimate


def test_a_given_homophily_is_taken_and_a_basis_without_angle_asks_for_none() -> None:
    given = planted_problem()
    assert UniFilterMethod(hops=2, homophily=0.123).build(given).shape.facts["homophily"] == 0.123
    assert HomFilterMethod(hops=2).build(given).shape.facts["homophily"] is None
    # No edge joins two training nodes: only the bases with an angle cannot do without.
    labels, edges = given.dataset.labels.numpy(), given.dataset.graph.edges()[0].T.tolist()
    apart = next(
        pair
        for pair in itertools.combinations(given.train, 2)
        if labels[pair[0]] != labels[pair[1]] and sorted(pair) not in edges
    )
    alone = Problem(given.workspace, np.array(apart), given.val)
    HomFilterMethod(hops=2).build(alone)
    with pytest.raises(ValueError, match="no edge joins two training nodes with known labels"):
        HetFilterMethod(hops=2).build(alone)


def test_published_settings_are_where_they_belong() -> None:
    # Of the authors' settings, those that differ most between data sets.
    cora, squirrel = UniFilterMethod.preset("cora"), UniFilterMethod.preset("squirrel")
    assert (cora.tau, cora.lr, cora.num_layers, cora.batch_norm) == (1.0, 0.15, 3, False)
    assert (squirrel.tau, squirrel.filter_lr, squirrel.batch_norm) == (0.7, 0.05, True)
    assert UniFilterMethod.preset("genius").metric == "roc_auc"
    assert UniFilterMethod.preset("cora", tau=0.25).tau == 0.25
    assert UniFilterMethod.preset("my own data") == UniFilterMethod()
    assert UniFilterMethod.with_settings(cora.settings()) == cora


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"tau": "learn", "basis": "homophily"},
            "are for basis=\"uni\" in the paper's form.*not for basis='homophily'",
        ),
        ({"theta": "learn", "formulation": "released"}, "not for basis='uni', formulation='released'"),
        ({"theta": 0.5}, "theta must be one of 'learn', not 0.5"),
        ({"tau": 1.5}, r"tau must lie in \[0, 1\], not 1.5"),
        ({"tau": "guess"}, r"tau must lie in \[0, 1\], not 'guess'"),
        ({"homophily": 2}, r"homophily must lie in \[0, 1\], not 2"),
        ({"formulation": "mine"}, "formulation must be one of 'paper', 'released', not 'mine'"),
        ({"basis": "fourier"}, "there is no basis 'fourier': choose one of"),
        ({"weights": "node"}, "weights must be one of 'hop', 'channel', not 'node'"),
        ({"hops": 0}, "hops must be a whole number of at least 1, not 0"),
        ({"patience": 0}, "patience must be a whole number of at least 1, not 0"),
        ({"monitor": "time"}, "monitor must be one of 'score', 'loss', not 'time'"),
        ({"features": "column"}, "features must be one of 'raw', 'row', 'l2', 'standard', not 'column'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        UniFilterMethod(**settings).build(planted_problem())


def test_an_unknown_setting_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="unifilter has no setting 'depth': it has features, epochs, .*, hops, basis"):
        UniFilterMethod.with_settings({"depth": 3})
    with pytest.raises(ValueError, match="homfilter has no setting 'depth'"):
        HomFilterMethod.preset("cora", depth=3)


def test_settings_tuned_on_the_masks() -> None:
    for name in ("citeseer", "actor", "chameleon", "texas"):
        assert UniFilterMethod.preset(name, "tuned", split="geom-gcn-48-32-20") == UniFilterMethod()
        assert UniFilterMethod.preset(name, "tuned", split="60") == UniFilterMethod.preset(name)
    assert UniFilterMethod.preset("cora", "tuned", split="48") == UniFilterMethod.preset("cora")
