from __future__ import annotations

import numpy as np
import pytest
import torch
from dense import propagation_matrix
from hypothesis import given, settings
from hypothesis import strategies as st

from unifilter import Graph, factorize, signal_frequency
from unifilter.factorization.energy import GRID, EnergyShare, energy_share, gain_axis, within
from unifilter.factorization.typical import with_signal


def random_case(seed: int, nodes: int, edges: int, signals: int) -> tuple[Graph, np.ndarray]:
    rng = np.random.default_rng(seed)
    graph = Graph.from_edges(rng.integers(0, nodes, (2, edges)), num_nodes=nodes)
    return graph, rng.standard_normal((nodes, signals))


def quadrature(graph: Graph, x: np.ndarray, hops: int) -> EnergyShare:
    return energy_share(with_signal(factorize(graph, x, hops).tridiagonal)[0])


def true_share(graph: Graph, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Share of energy at or below the grid from a full eigendecomposition, a little before and a little behind it."""
    lam, vectors = np.linalg.eigh(np.eye(graph.num_nodes) - propagation_matrix(graph))
    energy = (vectors.T @ x) ** 2
    energy /= energy.sum(axis=0)
    before, behind = ([energy[lam <= point + side].sum(axis=0).mean() for point in GRID] for side in (-1e-5, 1e-5))
    return np.array(before), np.array(behind)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(8, 60), st.integers(1, 9))
def test_the_true_share_lies_within_the_bounds(seed: int, nodes: int, hops: int) -> None:
    graph, x = random_case(seed, nodes, 2 * nodes, 3)
    found = quadrature(graph, x, hops)
    before, behind = true_share(graph, x)
    assert (found.low <= behind + 1e-9).all()
    assert (found.high >= before - 1e-9).all()
    assert (found.low <= found.share).all()
    assert (found.share <= found.high).all()


def test_bounds_close_as_hops_grow() -> None:
    graph, x = random_case(0, 300, 900, 5)
    width = [float((share.high - share.low).mean()) for share in (quadrature(graph, x, hops) for hops in (5, 20, 80))]
    assert width[0] > 2 * width[1] > 4 * width[2]


def test_an_exhausted_signal_has_no_error() -> None:
    edge = Graph.from_edges(torch.tensor([[0], [1]]), num_nodes=3)
    found = quadrature(edge, np.array([[1.0], [0.0], [0.0]]), hops=4)
    np.testing.assert_array_equal(found.low, found.high)
    # Half of the energy is at eigenvalue 0, half at 2.
    np.testing.assert_allclose(found.share, np.where(GRID < 2, 0.5, 1.0))


def test_the_frequency_is_that_of_the_signal() -> None:
    graph, x = random_case(3, 50, 120, 4)
    np.testing.assert_allclose(quadrature(graph, x, 3).frequency, signal_frequency(graph, x).numpy(), atol=1e-12)


@pytest.mark.parametrize("hops", [1, 6])
def test_all_energy_is_at_or_below_two(hops: int) -> None:
    graph, x = random_case(4, 40, 90, 2)
    found = quadrature(graph, x, hops)
    assert found.share[-1] == pytest.approx(1)
    assert found.low[-1] == found.high[-1] == 1


def test_the_span_holds_all_but_a_hundredth_at_each_end() -> None:
    found = quadrature(*random_case(5, 200, 600, 3), hops=20)
    first, last = found.span
    assert 0 < first < 1 < last < 2
    assert (found.share[first >= GRID] <= 0.01).all()
    assert (found.share[last <= GRID] >= 0.99).all()
    # Energy at both ends is all within, and energy at one eigenvalue is there.
    edge = Graph.from_edges(torch.tensor([[0], [1]]))
    assert quadrature(edge, np.array([[1.0], [0.0]]), hops=1).span == (0.0, 2.0)
    assert quadrature(edge, np.array([[1.0], [1.0]]), hops=1).span == (0.0, 0.0)


def test_a_span_between_two_eigenvalues_has_the_closest() -> None:
    lam = np.linspace(0, 2, 5)
    np.testing.assert_array_equal(within((0.5, 1.5), lam), [False, True, True, True, False])
    np.testing.assert_array_equal(within((0.9, 0.95), lam), [False, False, True, False, False])
    assert within((0.0, 2.0), lam).all()


def test_the_axis_shows_zero_and_the_curves_inside_the_span() -> None:
    lam = np.linspace(0, 2, 5)
    low, high = np.array([-9.0, 1.0, 1.0, 1.0, -1e6]), np.array([9.0, 1.0, 3.0, 2.0, 1e6])
    assert gain_axis((0.5, 1.5), lam, low, high) == pytest.approx((-0.18, 3.18))
    assert gain_axis((0.0, 2.0), lam, 0 * lam) == (-1.0, 1.0)
