from __future__ import annotations

import numpy as np
import torch
from dense import propagation_matrix
from hypothesis import given
from hypothesis import strategies as st
from strategies import connected_graph, graphs, signals

from unifilter import Graph, density_of, factorize, spectral_density


@given(graphs(), st.integers(1, 6), st.integers(0, 99))
def test_quadrature_reproduces_the_moments(graph: Graph, hops: int, seed: int) -> None:
    x = signals(graph, 3, seed)
    density = spectral_density(graph, x, hops)
    assert density.lam.shape == density.energy.shape == (hops + 1, 3)
    assert (density.lam >= 0).all()
    assert (density.lam <= 2).all()
    energy = (x**2).sum(dim=0)
    power = x
    for k in range(2 * hops + 2):
        assert torch.allclose(density.moment(k) * energy, (x * power).sum(dim=0), atol=1e-6 * (1 + energy.max()))
        power = graph.propagate(power)


def test_a_full_krylov_space_gives_the_true_spectrum() -> None:
    graph = connected_graph(12)
    x = signals(graph, 1, 1)
    density = spectral_density(graph, x, 11)
    values, directions = np.linalg.eigh(np.eye(12) - propagation_matrix(graph))
    energy = (directions.T @ x[:, 0].numpy()) ** 2 / float((x**2).sum())
    np.testing.assert_allclose(density.lam[:, 0], values, atol=1e-8)
    np.testing.assert_allclose(density.energy[:, 0], energy, atol=1e-8)


def test_zero_signals_have_no_energy_and_exhausted_spaces_no_spurious_one() -> None:
    graph = Graph.from_edges(np.array([[0], [1]]), num_nodes=3)
    fact = factorize(graph, torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]), 4)
    density = density_of(fact.tridiagonal)
    assert density.energy[:, 1].sum() == 0
    place = density.lam[density.energy[:, 0] > 1e-6, 0]
    assert torch.allclose(place, torch.tensor([0.0, 2.0]), atol=1e-6)
