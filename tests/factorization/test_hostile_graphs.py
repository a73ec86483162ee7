"""Graphs made to break numerics; `make fuzz` tries ten thousand of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hostile_cases import failures, make_case, nodes_reached, propagation_matrix
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import connected_graph, signals

from unifilter import Graph, factorize
from unifilter.kernels import backend

FLOATS = [torch.float32, torch.float64]


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_every_property_holds(seed: int) -> None:
    case = make_case(seed)
    assert failures(case) == [], case.name


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_every_property_holds_in_plain_torch(seed: int) -> None:
    case = make_case(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend, "_numba_chosen", lambda: False)
        assert failures(case) == [], case.name


# Seeds with which orthogonality was lost or a dimension was too large before it was watched closely: many hops on few
# nodes, links of 1e-22, rests of noise.
@pytest.mark.parametrize("seed", [217, 491, 620, 819, 822, 950, 1281, 1380, 2215, 5374])
def test_cases_that_were_hard(seed: int) -> None:
    assert failures(make_case(seed)) == []


# Scale


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("scale", [1e-37, 1e-30, 1e-20, 1e20, 1e30, 1e36])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [("homophily", {}), ("orthonormal", {}), ("bernstein", {}), ("heterophily", {"homophily": 0.3})],
)
def test_frequencies_do_not_depend_on_the_scale(
    name: str, parameters: dict[str, float], scale: float, dtype: torch.dtype
) -> None:
    graph = connected_graph()
    x = signals(graph, 3, 0, dtype)
    expected = factorize(graph, x, 8).frequencies(name, **parameters)
    mixed = x * torch.tensor([scale, 1.0, 1 / scale], dtype=dtype)
    torch.testing.assert_close(factorize(graph, mixed, 8).frequencies(name, **parameters), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
@pytest.mark.parametrize("tau", [0.0, 0.5])
def test_the_released_formulation_stays_finite(scale: float, tau: float) -> None:
    graph = connected_graph()
    fact = factorize(graph, signals(graph, 3, 0, torch.float32) * scale, 8)
    mix = {"tau": tau, "homophily": 0.4, "formulation": "released"}
    assert torch.isfinite(fact.basis("uni", **mix)).all()
    assert torch.isfinite(fact.frequencies("uni", **mix)).all()


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_signals_whose_squares_leave_double_precision(
    scale: float, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "_numba_chosen", lambda: compiled)
    graph = connected_graph()
    x = signals(graph, 3, 0)
    found, expected = factorize(graph, x * scale, 6), factorize(graph, x, 6)
    torch.testing.assert_close(found.vectors, expected.vectors, atol=1e-12, rtol=0)
    torch.testing.assert_close(found.norm, expected.norm * scale)


def test_a_column_whose_length_overflows_is_refused_by_name() -> None:
    x = torch.ones(60, 3)
    x[:, 1] = 3e38
    with pytest.raises(
        ValueError, match="feature column 1 is longer than the largest float32 number .3.4e.38.: divide"
    ):
        factorize(connected_graph(), x, 2)


# Weak links


def two_nodes(weight: float) -> Graph:
    return Graph.from_edges(np.array([[0], [1]]), 2, np.array([weight]), self_loops="add")


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("weight", [1e-2, 1.3e-3, 1e-4, 1e-5, 1e-6])
def test_a_weak_link_between_two_nodes_is_not_cut(
    weight: float, dtype: torch.dtype, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "_numba_chosen", lambda: compiled)
    fact = factorize(two_nodes(weight), torch.tensor([[1.0], [0.0]], dtype=dtype), 40)
    assert fact.dimension.tolist() == [2]
    # P has the eigenvalues 1 and (1 - w) / (1 + w).
    other = ((1 - weight) / (1 + weight)) ** 40
    found = fact.basis("homophily")[40, :, 0].tolist()
    assert found == pytest.approx([(1 + other) / 2, (1 - other) / 2], abs=2e-5)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("parts", [2, 3, 4])
@pytest.mark.parametrize("weight", [1e-3, 1e-4, 1e-5, 1e-6])
def test_weakly_linked_components(weight: float, parts: int, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_numba_chosen", lambda: compiled)
    # Rings of five in a row, the signal on the first.
    ring = np.array([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]])
    rings = np.concatenate([ring + 5 * part for part in range(parts)], axis=1)
    links = np.array([[5 * part, 5 * part + 5] for part in range(parts - 1)]).T
    weights = np.r_[np.ones(rings.shape[1]), np.full(parts - 1, weight)]
    graph = Graph.from_edges(np.concatenate([rings, links], axis=1), edge_weight=weights)
    x = torch.zeros(5 * parts, 2)
    x[0, 0] = 1
    x[:5, 1] = torch.tensor([1.0, 0.2, -0.7, 0.4, 2.0])
    fact = factorize(graph, x, 40)
    matrix = torch.from_numpy(propagation_matrix(graph))
    expected = torch.linalg.matrix_power(matrix, 40) @ x.double()
    assert (fact.basis("homophily")[40] - expected).norm(dim=0).max() < 1e-4 * x.norm()
    assert fact.diagnostics().orthogonality_loss.max() < 1e-3
    assert (fact.dimension <= nodes_reached(graph, x)).all()


@pytest.mark.parametrize("hops", [3, 10, 40])
def test_an_exhausted_space_gets_no_vectors_of_noise(hops: int) -> None:
    # A ring of six has four distinct eigenvalues, a star three, a complete graph two: beside a large other component.
    nodes, parts = 0, []
    for edges in (
        np.array([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]]),
        np.array([[0] * 6, [1, 2, 3, 4, 5, 6]]),
        np.stack(np.triu_indices(7, 1)),
        connected_graph().edges()[0].numpy(),
    ):
        parts.append(edges + nodes)
        nodes += int(edges.max()) + 1
    graph = Graph.from_edges(np.concatenate(parts, axis=1), nodes)
    random = torch.Generator().manual_seed(0)
    x = torch.zeros(nodes, 3)
    for channel, (begin, end) in enumerate([(0, 6), (6, 13), (13, 20)]):
        x[begin:end, channel] = torch.randn(end - begin, generator=random)
    fact = factorize(graph, x, hops)
    assert fact.dimension.tolist() == [4, 3, 2]


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_no_dimension_is_above_the_nodes_that_a_signal_reaches(seed: int, hops: int) -> None:
    random = np.random.default_rng(seed)
    graph = Graph.from_edges(random.integers(0, 40, (2, 30)), 40, random.uniform(0.1, 3, 30))
    x = torch.from_numpy(random.standard_normal((40, 6)) * (random.random((40, 6)) < 0.1)).float()
    for features in (x, x.to_sparse_csc()):
        assert (factorize(graph, features, hops).dimension <= nodes_reached(graph, x)).all()
