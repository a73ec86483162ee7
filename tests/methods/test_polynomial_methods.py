"""GPR-GNN, EvenNet, ChebNetII, BernNet and JacobiConv: initial and learned filters, settings, training."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from dense import propagation_matrix
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from unifilter.bases import Bernstein, Jacobi
from unifilter.data import NodeDataset
from unifilter.datasets.synthetic import contextual_sbm
from unifilter.estimators import fit
from unifilter.graph import Graph, SelfLoops
from unifilter.methods import METHODS, Learner, Method, Problem, Workspace, find_method
from unifilter.methods.bernnet import BernNetMethod
from unifilter.methods.chebnetii import ChebNetIIMethod
from unifilter.methods.evennet import EvenNetMethod
from unifilter.methods.gprgnn import GPRGNNMethod
from unifilter.methods.jacobiconv import JacobiConvMethod
from unifilter.nn.decoupled import DecoupledFilter
from unifilter.nn.gprgnn import pagerank_weights
from unifilter.nn.jacobi_conv import JacobiConv
from unifilter.training import LossWindow, Patience

CLASSES = (GPRGNNMethod, EvenNetMethod, ChebNetIIMethod, BernNetMethod, JacobiConvMethod)
SIX = ("cora", "citeseer", "pubmed", "chameleon", "squirrel", "actor")
LAM = torch.linspace(0, 2, 41, dtype=torch.float64)


def problem(num_nodes: int = 300, homophily: float = 0.85, signal: float = 1.5) -> Problem:
    dataset = contextual_sbm(num_nodes, 3, homophily, average_degree=8, num_features=40, signal=signal)
    order = np.random.default_rng(0).permutation(num_nodes)
    return Problem(Workspace(dataset), order[: num_nodes // 2], order[num_nodes // 2 : 3 * num_nodes // 4])


def build(method: Method, on: Problem | None = None) -> Learner:
    torch.manual_seed(0)
    # The synthetic features are partly negative: they cannot be divided by their sum.
    return method.build(on or problem(60))


def response(learner: Learner) -> Tensor:
    return response_at(learner, LAM)


def response_at(learner: Learner, lam: Tensor) -> Tensor:
    found = learner.model.response(lam)
    assert found is not None
    return found


def randomize(model: nn.Module) -> None:
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))


def options(**changes: Any) -> dict[str, Any]:
    return {"features": "raw", **changes}


@pytest.mark.parametrize("method", CLASSES)
def test_is_registered_under_its_name_and_reads_row_normalised_features(method: type[Method]) -> None:
    assert find_method(method.name) is method
    assert METHODS[method.name] is method
    assert method().features == "row"
    assert method().epochs == 1000


@pytest.mark.parametrize("method", [BernNetMethod, ChebNetIIMethod])
def test_starts_as_the_identity(method: type[Method]) -> None:
    learner = build(method(**options()))
    assert torch.allclose(response(learner), torch.ones(41, 1, dtype=torch.float64), atol=1e-6)
    nodes = torch.arange(60)
    model = learner.model.eval()
    assert isinstance(model, DecoupledFilter)
    features = problem(60).workspace.features("raw")
    assert torch.allclose(learner.forward(nodes), model.transform(features), atol=1e-6)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_gprgnn_starts_as_personalised_pagerank(alpha: float) -> None:
    mu = 1 - LAM
    truncated = sum((alpha * (1 - alpha) ** k * mu**k for k in range(10)), torch.zeros(41)) + (1 - alpha) ** 10 * mu**10
    started = response(build(GPRGNNMethod(**options(alpha=alpha))))[:, 0]
    assert torch.allclose(started, truncated, atol=1e-6)
    # At frequency zero PageRank keeps everything.
    assert math.isclose(started[0].item(), 1, abs_tol=1e-6)


def test_pagerank_weights_at_the_ends_are_single_powers() -> None:
    assert pagerank_weights(1.0, 4).tolist() == [1, 0, 0, 0, 0]
    assert pagerank_weights(0.0, 4).tolist() == [0, 0, 0, 0, 1]
    assert math.isclose(pagerank_weights(0.3, 7).sum().item(), 1, rel_tol=1e-6)


@pytest.mark.parametrize("method", [GPRGNNMethod, EvenNetMethod])
def test_alpha_outside_the_unit_interval_is_refused(method: type[Method]) -> None:
    with pytest.raises(ValueError, match="alpha must lie in \\[0, 1\\], not 1.5"):
        build(method.with_settings(options(alpha=1.5)))


def test_evennet_starts_from_even_powers_without_a_tail() -> None:
    started = response(build(EvenNetMethod(**options())))[:, 0]
    expected = sum((0.1 * 0.9 ** (2 * k) * (1 - LAM) ** (2 * k) for k in range(6)), torch.zeros(41))
    assert torch.allclose(started, expected, atol=1e-6)


def test_evennet_treats_mirrored_frequencies_alike_whatever_it_learned() -> None:
    learner = build(EvenNetMethod(**options(hops=7)))
    randomize(learner.model)
    assert learner.model.filter_weights.shape == (4,)  # 1, P^2, P^4, P^6
    assert torch.allclose(response(learner), response(learner).flip(0), atol=1e-5)


def test_jacobiconv_has_the_sign_of_its_authors_in_their_settings_alone() -> None:
    assert not JacobiConvMethod().published_sign
    for name in JacobiConvMethod.presets:
        preset = JacobiConvMethod.preset(name)
        assert preset.published_sign == (preset.a != preset.b)  # where they are equal the sign changes nothing


def test_jacobiconv_starts_with_ones_and_bounded_factors() -> None:
    learner = build(JacobiConvMethod(**options(a=1.5, b=0.25, alpha=0.5)))
    factor = 0.5 * math.tanh(1)
    values = Jacobi(1.5, 0.25).evaluate(LAM, hops=10)
    expected = sum((factor**k * values[k] for k in range(11)), torch.zeros(41))
    assert torch.allclose(response(learner), expected[:, None].expand(-1, 3), atol=1e-5)
    wide = build(JacobiConvMethod(**options(alpha=2.0))).model
    assert isinstance(wide, JacobiConv)
    assert torch.allclose(wide.eta, torch.full((10,), 0.5))


def test_jacobiconv_is_the_recurrence_of_its_authors() -> None:
    """X_k by the published recurrence, with its factors inside, on the dense matrix."""
    a, b, bound, hops = 0.5, -0.25, 1.5, 6
    on = problem(60)
    for published_sign, sign in ((False, 1), (True, -1)):
        learner = build(
            JacobiConvMethod(**options(a=a, b=b, alpha=bound, hops=hops, published_sign=published_sign)), on
        )
        model = learner.model
        assert isinstance(model, JacobiConv)
        randomize(model)
        with torch.no_grad():
            alpha = (bound * torch.tanh(model.eta)).double()
            start = model.linear(on.workspace.features("raw")).double()
            P = torch.from_numpy(propagation_matrix(on.dataset.graph))
            terms = [start, alpha[0] * ((a - b) / 2 * start + (a + b + 2) / 2 * (P @ start))]
            for k in range(2, hops + 1):
                n = 2 * k * (k + a + b) * (2 * k + a + b - 2)
                theta = (2 * k + a + b - 1) * (2 * k + a + b) * (2 * k + a + b - 2) / n
                shift = (2 * k + a + b - 1) * (a**2 - b**2) / n
                back = 2 * (k - 1 + a) * (k - 1 + b) * (2 * k + a + b) / n
                grown = alpha[k - 1] * (theta * (P @ terms[-1]) + sign * shift * terms[-1])
                terms.append(grown - alpha[k - 1] * alpha[k - 2] * back * terms[-2])
            expected = sum((model.beta[k] * terms[k] for k in range(hops + 1)), torch.zeros_like(start))
            model.eval()
            logits = learner.forward(torch.arange(60)).double()
        assert torch.allclose(logits, expected, atol=1e-4 * expected.abs().max().item())


@pytest.mark.parametrize(
    ("method", "self_loops"),
    [
        (GPRGNNMethod(**options()), "add"),
        (EvenNetMethod(**options()), "remove"),
        (BernNetMethod(**options()), "remove"),
        (ChebNetIIMethod(**options()), "remove"),
        (ChebNetIIMethod(**options(operator="adjacency", non_negative=False)), "add"),
        (JacobiConvMethod(**options(a=-1.0, b=0.5)), "remove"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_response_is_what_the_filter_does_on_its_graph(method: Method, self_loops: SelfLoops) -> None:
    on = problem(60)
    learner = build(method, on)
    randomize(learner.model)
    model = learner.model.eval()
    graph = Graph.from_edges(on.dataset.graph.edges()[0], num_nodes=60, self_loops=self_loops)
    eigenvalues, vectors = np.linalg.eigh(np.eye(60) - propagation_matrix(graph))
    features = on.workspace.features("raw")
    with torch.no_grad():
        hidden = model.linear(features) if isinstance(model, JacobiConv) else model.transform(features)  # type: ignore[operator]
        logits = learner.forward(torch.arange(60)).numpy()
    shape = response_at(learner, torch.from_numpy(eigenvalues)).numpy()
    assert shape.shape == (60, 3 if isinstance(model, JacobiConv) else 1)
    expected = vectors @ (shape * (vectors.T @ hidden.double().numpy()))
    np.testing.assert_allclose(logits, expected, atol=1e-4 * np.abs(expected).max())


def test_bernnet_filter_is_non_negative_whatever_it_learned() -> None:
    learner = build(BernNetMethod(**options()))
    randomize(learner.model)
    weights = learner.model.filter_weights.detach().double()
    assert (weights < 0).any()
    expected = weights.clamp(min=0) @ Bernstein().evaluate(LAM, hops=10)
    assert torch.allclose(response(learner)[:, 0], expected, atol=1e-5)
    assert response(learner).min() > -1e-6


def test_chebnetii_interpolates_its_values() -> None:
    learner = build(ChebNetIIMethod(**options(hops=4)))
    with torch.no_grad():
        learner.model.filter_weights.copy_(torch.tensor([0.5, 2.0, -1.0, 0.25, 3.0]))
    points = 1 + torch.cos((4 - torch.arange(5, dtype=torch.float64) + 0.5) * math.pi / 5)
    expected = torch.tensor([0.5, 2.0, 0.0, 0.25, 3.0], dtype=torch.float64)
    assert torch.allclose(response_at(learner, points)[:, 0], expected, atol=1e-5)


def test_chebnetii_of_the_adjacency_mirrors_the_frequencies() -> None:
    plain, mirrored = (
        build(ChebNetIIMethod(**options(operator=operator, non_negative=False)))
        for operator in ("laplacian", "adjacency")
    )
    for learner in (plain, mirrored):
        randomize(learner.model)
    assert torch.allclose(response(plain), response(mirrored).flip(0), atol=1e-5)


def test_batch_normalised_perceptron_has_no_dropout_on_its_input() -> None:
    torch.manual_seed(0)
    model = DecoupledFilter(40, 3, Bernstein(), torch.ones(11), dropout=0.9, num_layers=1, batch_norm=True).train()
    x = torch.randn(20, 40)
    assert torch.equal(model.transform(x), model.layers[0](x))
    deep = DecoupledFilter(40, 3, Bernstein(), torch.ones(11), dropout=0.0, num_layers=3, batch_norm=True)
    first = torch.relu(deep.layers[0](x))
    second = torch.relu(deep.layers[1](deep.norms[0](first)))
    assert torch.allclose(deep.transform(x), deep.layers[2](deep.norms[1](second)), atol=1e-5)


def test_dropout_falls_on_features_hidden_layer_and_logits_in_training_alone() -> None:
    torch.manual_seed(0)
    graph = problem(60).workspace.graph()
    x = torch.ones(60, 40)
    quiet = DecoupledFilter(40, 3, Bernstein(), torch.ones(11), dropout=0.0, filter_dropout=0.0).train()
    assert torch.equal(quiet(x, graph), quiet.eval()(x, graph))
    noisy = DecoupledFilter(40, 3, Bernstein(), torch.ones(11), dropout=0.5, filter_dropout=0.0).train()
    # The nodes are all alike: only masks on the features can tell them apart.
    assert noisy.transform(x).std(dim=0).min() > 0
    dropped = DecoupledFilter(40, 3, Bernstein(), torch.ones(11), dropout=0.0, filter_dropout=0.9).train()
    assert (dropped(x, graph).abs() < 1e-5).float().mean() > 0.7  # starts as the identity, so zeros stay zeros
    assert torch.equal(noisy.eval()(x, graph), noisy(x, graph))


GROUPS: list[tuple[Method, list[tuple[float, float]], type]] = [
    (GPRGNNMethod(**options(lr=0.03, weight_decay=0.2)), [(0.03, 0.2), (0.03, 0.0)], LossWindow),
    (EvenNetMethod(**options(lr=0.03, weight_decay=0.2)), [(0.03, 0.2), (0.01, 0.0)], Patience),
    (BernNetMethod(**options(lr=0.03, weight_decay=0.2, filter_lr=0.4)), [(0.03, 0.2), (0.4, 0.0)], LossWindow),
    (
        ChebNetIIMethod(**options(lr=0.03, weight_decay=0.2, filter_lr=0.4, filter_weight_decay=0.5)),
        [(0.03, 0.2), (0.4, 0.5)],
        LossWindow,
    ),
    (
        JacobiConvMethod(
            **options(lr=1, weight_decay=2, alpha_lr=3, alpha_weight_decay=4, filter_lr=5, filter_weight_decay=6)
        ),
        [(1, 2), (3, 4), (5, 6)],
        Patience,
    ),
]


@pytest.mark.parametrize(("method", "rates", "rule"), GROUPS, ids=lambda value: getattr(value, "name", ""))
def test_groups_hold_every_parameter_once(method: Method, rates: list[tuple[float, float]], rule: type) -> None:
    learner = build(method)
    assert [(group["lr"], group["weight_decay"]) for group in learner.parameter_groups] == rates
    grouped = [id(parameter) for group in learner.parameter_groups for parameter in group["params"]]
    assert sorted(grouped) == sorted(id(parameter) for parameter in learner.model.parameters())
    model = learner.model
    filters = [model.eta, model.beta] if isinstance(model, JacobiConv) else [model.filter_weights]
    assert [id(p) for group in learner.parameter_groups[1:] for p in group["params"]] == [id(p) for p in filters]
    assert type(learner.stop) is rule


def test_stop_rules_are_those_of_the_papers() -> None:
    even, jacobi = build(EvenNetMethod(**options())).stop, build(JacobiConvMethod(**options())).stop
    assert isinstance(even, Patience)
    assert (even.patience, even.monitor, even.ties) == (200, "loss", False)
    assert isinstance(jacobi, Patience)
    assert (jacobi.patience, jacobi.monitor, jacobi.ties) == (200, "score", True)
    for method in (GPRGNNMethod, BernNetMethod, ChebNetIIMethod):
        rule = build(method(**options())).stop
        assert isinstance(rule, LossWindow)
        assert rule.window == 200
    best = build(ChebNetIIMethod(**options(stop="best", epochs=70))).stop
    assert isinstance(best, Patience)
    assert (best.patience, best.monitor) == (70, "score")


@pytest.mark.parametrize("method", CLASSES)
def test_every_preset_builds(method: type[Method]) -> None:
    assert set(SIX) <= set(method.presets)
    on = problem(60)
    for dataset in method.presets:
        learner = build(method.preset(dataset, features="raw"), on)
        assert learner.forward(torch.arange(5)).shape == (5, 3)


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        (GPRGNNMethod.preset("squirrel"), {"lr": 0.05, "alpha": 0.0, "weight_decay": 0.0, "filter_dropout": 0.7}),
        (EvenNetMethod.preset("actor"), {"lr": 0.05, "weight_decay": 5e-4, "dropout": 0.3, "filter_dropout": 0.7}),
        (BernNetMethod.preset("actor"), {"lr": 0.05, "filter_lr": 0.01, "filter_dropout": 0.9, "dropout": 0.5}),
        (ChebNetIIMethod.preset("cora"), {"filter_weight_decay": 5e-4, "filter_dropout": 0.0, "filter_lr": 0.01}),
        (ChebNetIIMethod.preset("genius"), {"hops": 3, "num_layers": 3, "batch_norm": True, "metric": "roc_auc"}),
        (ChebNetIIMethod.preset("penn94"), {"operator": "adjacency", "non_negative": False, "features": "raw"}),
        (JacobiConvMethod.preset("actor"), {"a": -1.0, "b": 0.5, "alpha": 1.0, "alpha_lr": 0.05, "filter_lr": 0.01}),
    ],
)
def test_presets_are_the_published_settings(preset: Method, expected: dict[str, Any]) -> None:
    settings = preset.settings()
    assert {name: settings[name] for name in expected} == expected
    assert (settings["hops"], settings.get("hidden_channels", 64)) in ((10, 64), (10, 256), (3, 128))


@pytest.mark.parametrize("method", CLASSES)
def test_learns_from_the_graph_what_features_alone_do_not_tell(method: type[Method]) -> None:
    on = problem(300, homophily=0.9, signal=1.0)
    x, labels = on.workspace.features("raw"), on.workspace.labels
    rest = torch.tensor(np.setdiff1d(np.arange(300), np.concatenate([on.train, on.val])))
    alone = LogisticRegression(C=0.1).fit(x[on.train], labels[on.train]).score(x[rest], labels[rest])
    fitted = fit(method.with_settings(options(lr=0.05, epochs=40, dropout=0.2, filter_dropout=0.2)), on)
    assert fitted.scores(rest)["accuracy"] > alone + 0.15


def test_the_same_seed_gives_the_same_result() -> None:
    on = problem(80)
    method = BernNetMethod(**options(epochs=5))
    first, second = fit(method, on), fit(method, on)
    assert first.history.loss == second.history.loss
    assert torch.equal(first.logits, second.logits)


def test_reset_gives_the_first_weights_back() -> None:
    for method in CLASSES:
        learner = build(method(**options()))
        before = response(learner)
        randomize(learner.model)
        assert not torch.allclose(response(learner), before)
        learner.model.reset_parameters()  # type: ignore[operator]
        assert torch.equal(response(learner), before)


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="operator must be one of 'laplacian', 'adjacency', not 'both'"):
        build(ChebNetIIMethod(**options(operator="both")))
    with pytest.raises(ValueError, match="stop must be one of 'window', 'best', not 'never'"):
        build(ChebNetIIMethod(**options(stop="never")))
    with pytest.raises(ValueError, match="alpha must be a number above 0, not 0: the paper uses 0.5 to 2"):
        build(JacobiConvMethod(**options(alpha=0)))
    with pytest.raises(ValueError, match="filter_dropout must be below 1"):
        build(BernNetMethod(**options(filter_dropout=1.0)))
    with pytest.raises(ValueError, match="num_layers must be a whole number of at least 1, not 0"):
        build(ChebNetIIMethod(**options(num_layers=0)))
    with pytest.raises(ValueError, match="has 11 polynomials up to degree 10, and weights have shape \\[3\\]"):
        DecoupledFilter(4, 2, Bernstein(), torch.ones(3))


def test_row_normalised_features_reach_the_model() -> None:
    generator = torch.Generator().manual_seed(0)
    counts = torch.randint(0, 5, (60, 40), generator=generator).float() + 1
    graph = problem(60).dataset.graph
    dataset = NodeDataset("counts", graph, counts, torch.arange(60) % 3)
    learner = build(BernNetMethod(), Problem(Workspace(dataset), np.arange(30), np.arange(30, 60)))
    model = learner.model.eval()
    assert isinstance(model, DecoupledFilter)
    expected = model(counts / counts.sum(dim=1, keepdim=True), graph)
    assert torch.allclose(learner.forward(torch.arange(60)), expected, atol=1e-6)
