from __future__ import annotations

import numpy as np
import pytest
import torch
from dense import propagation_matrix
from planted import awkward_problem, planted_problem
from strategies import connected_graph

from unifilter import Graph, factorize
from unifilter.estimators import fit
from unifilter.methods.optbasis import OptBasisMethod
from unifilter.nn.optbasis import OptBasisGNN, lanczos_vectors


def vectors_of(graph: Graph, x: torch.Tensor, hops: int) -> torch.Tensor:
    return torch.stack(list(lanczos_vectors(graph.propagate, x, hops)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_vectors_are_orthonormal_and_those_of_the_factorization(dtype: torch.dtype) -> None:
    graph = connected_graph()
    x = torch.randn(60, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(dtype)
    vectors = vectors_of(graph, x, 6)
    gram = torch.einsum("inc,jnc->cij", vectors, vectors)
    accuracy = 1e-4 if dtype == torch.float32 else 1e-12
    assert (gram - torch.eye(7, dtype=dtype)).abs().max() < accuracy
    assert torch.allclose(vectors, factorize(graph, x, 6).vectors, atol=accuracy)


def test_exhausted_columns_end_in_zeros_with_finite_gradients() -> None:
    # A column on an isolated node, one on a single edge (two dimensions), one of zeros, one on a path of three.
    graph = Graph.from_edges(np.array([[0, 2, 3], [1, 3, 4]]), num_nodes=6)
    x = torch.zeros(6, 4, dtype=torch.float64)
    x[5, 0], x[0, 1], x[2, 3] = 1.0, 2.0, 3.0
    x.requires_grad_()
    vectors = vectors_of(graph, x, 4)
    lengths = torch.linalg.vector_norm(vectors, dim=1).detach()
    expected = torch.tensor([[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0], [1, 1, 1, 0, 0]], dtype=torch.float64)
    assert torch.allclose(lengths.T, expected)
    (gradient,) = torch.autograd.grad((vectors * torch.arange(1, 6)[:, None, None]).sum(), x)
    assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_rounding_leaves_of_an_exhausted_column_is_no_vector(dtype: torch.dtype) -> None:
    graph = connected_graph(6)
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(dtype)
    fact = factorize(graph, x, 9)
    lengths = torch.linalg.vector_norm(vectors_of(graph, x, 9), dim=1)
    assert fact.dimension.max() <= 6
    assert torch.allclose(lengths, fact.tridiagonal.reached.to(dtype))


def test_the_gradient_runs_through_the_orthogonalization() -> None:
    graph = connected_graph(10)
    x = torch.randn(10, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: torch.stack(list(lanczos_vectors(graph.propagate, x, 3))), x)


def test_the_filter_starts_as_the_normalised_signal() -> None:
    graph = connected_graph()
    model = OptBasisGNN(4, 8, 3, hops=3).double().eval()
    x = torch.randn(60, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    hidden = model.hidden(x)
    expected = model.output(hidden / torch.linalg.vector_norm(hidden, dim=0))
    assert torch.allclose(model(x, graph), expected)


def test_the_response_is_the_filter_of_each_hidden_channel() -> None:
    problem = planted_problem()
    fitted = fit(OptBasisMethod(hops=3, hidden_channels=6, epochs=20), problem)
    model = fitted.model.network
    assert isinstance(model, OptBasisGNN)
    values, vectors = np.linalg.eigh(np.eye(48) - propagation_matrix(problem.dataset.graph))
    response = fitted.model.response(values)
    assert response is not None
    with torch.no_grad():
        hidden = model.hidden(problem.workspace.features("raw")).double().numpy()
        filtered = vectors @ (response.double().numpy() * (vectors.T @ hidden))
        expected = model.output(torch.from_numpy(filtered).float())
    assert torch.allclose(fitted.logits, expected, atol=1e-3)


def test_noise_falls_on_training_and_where_asked_on_evaluation() -> None:
    problem, nodes = awkward_problem(), torch.arange(40)
    x = problem.workspace.features("raw")
    quiet, noisy, published = (
        OptBasisMethod(hops=2, dropout=0.0, hidden_dropout=0.0, **changes).build(problem)
        for changes in ({}, {"noise": 0.1}, {"noise": 0.1, "noise_in_evaluation": True})
    )
    for learner in (quiet, noisy, published):
        model = learner.model
        assert isinstance(model, OptBasisGNN)
        assert torch.equal(model.hidden(x), model.hidden(x)) == (learner is quiet)
        clean = torch.relu(model.input(x))
        model.eval()
        # In evaluation the noise is the same each time.
        assert torch.equal(learner.forward(nodes), learner.forward(nodes))
        found = model.hidden(x) - clean
        assert found.std().item() == pytest.approx(0.1 if learner is published else 0.0, rel=0.1)
    with pytest.raises(ValueError, match="noise must not be negative, not -1"):
        OptBasisMethod(noise=-1).build(problem)


def test_the_published_settings_have_the_noise_of_the_authors() -> None:
    assert (OptBasisMethod().noise, OptBasisMethod().noise_in_evaluation) == (0.0, False)
    for name in OptBasisMethod.presets:
        preset = OptBasisMethod.preset(name)
        assert (preset.noise, preset.noise_in_evaluation) == (1e-5, True)


def test_the_filter_has_rates_of_its_own() -> None:
    learner = OptBasisMethod(lr=0.1, weight_decay=0.2, filter_lr=0.3, filter_weight_decay=0.4).build(planted_problem())
    layers, filters = learner.parameter_groups
    assert (layers["lr"], layers["weight_decay"], filters["lr"], filters["weight_decay"]) == (0.1, 0.2, 0.3, 0.4)
    assert [tuple(parameter.shape) for parameter in filters["params"]] == [(11, 64)]
