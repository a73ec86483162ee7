from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from unifilter import Factorization, Graph, density_of, factorize
from unifilter.explanation.curves import GRID, Curves, compute_curves, response_axis
from unifilter.factorization.typical import possible_energy, weighted_quartiles, with_signal


def factored(channels: int = 6, hops: int = 5, dtype: torch.dtype = torch.float64) -> Factorization:
    generator = torch.Generator().manual_seed(0)
    graph = Graph.from_edges(torch.randint(0, 60, (2, 150), generator=generator), num_nodes=60)
    return factorize(graph, torch.randn(60, channels, dtype=dtype, generator=generator), hops)


def curves_of(fact: Factorization, tau: float, homophily: float, weights: Tensor | None = None) -> Curves:
    equal = torch.full((fact.hops + 1, 1), 1 / (fact.hops + 1), dtype=torch.float64)
    return compute_curves(with_signal(fact.tridiagonal)[0], tau, homophily, equal if weights is None else weights)


def test_frequencies_are_moments_over_the_channels() -> None:
    fact = factored()
    found = curves_of(fact, 0.3, 0.6)
    expected = fact.frequencies("uni", tau=0.3, homophily=0.6).numpy()
    np.testing.assert_allclose(found.frequency, expected.mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(found.frequency_spread, expected.std(axis=1), atol=1e-12)


@pytest.mark.parametrize("homophily", [0.0, 0.4, 1.0])
def test_all_angles_of_the_heterophily_basis_are_theta(homophily: float) -> None:
    angles = curves_of(factored(), 0.0, homophily).angles
    off_diagonal = angles[~np.eye(len(angles), dtype=bool)]
    np.testing.assert_allclose(off_diagonal, 90 * (1 - homophily), atol=1e-5)
    assert (np.diag(angles) == 0).all()


def test_angles_are_those_between_the_vectors() -> None:
    fact = factored(channels=2)
    basis = fact.basis("uni", tau=0.8, homophily=0.3)
    unit = basis / basis.norm(dim=1, keepdim=True)
    expected = torch.rad2deg(torch.arccos(torch.einsum("knc,jnc->kjc", unit, unit).clamp(-1, 1))).mean(dim=2)
    np.testing.assert_allclose(curves_of(fact, 0.8, 0.3).angles, expected.numpy(), atol=1e-5)


def test_an_exhausted_channel_has_the_angles_of_the_vectors_it_has() -> None:
    edge = Graph.from_edges(torch.tensor([[0], [1]]))
    fact = factorize(edge, torch.tensor([[1.0], [0.5]], dtype=torch.float64), 4)
    basis = fact.basis("heterophily", homophily=0.5)[:, :, 0]
    unit = basis / basis.norm(dim=1, keepdim=True)
    expected = torch.rad2deg(torch.arccos((unit @ unit.T).clamp(-1, 1)))
    np.testing.assert_allclose(curves_of(fact, 0.0, 0.5).angles, expected.numpy(), atol=1e-5)


@pytest.mark.parametrize("k", [0, 3, 5])
def test_the_response_of_a_power_is_the_power(k: int) -> None:
    weights = torch.nn.functional.one_hot(torch.tensor(k), 6).double()[:, None]
    found = curves_of(factored(), 1.0, 0.5, weights)
    for curve in (found.response, found.response_low, found.response_high):
        np.testing.assert_allclose(curve, (1 - GRID) ** k, atol=1e-9)


def test_the_response_is_the_median_of_what_the_basis_evaluates_to() -> None:
    fact = factored()
    weights = torch.linspace(-1, 1, 6 * 6, dtype=torch.float64).reshape(6, 6)
    lam = torch.from_numpy(GRID)
    values = fact.evaluate("uni", lam, tau=0.4, homophily=0.7)
    each = torch.einsum("klc,kc->lc", values, weights).numpy()
    energy = possible_energy(fact.tridiagonal.orthonormal_polynomials(lam)).numpy()
    found = curves_of(fact, 0.4, 0.7, weights)
    expected = weighted_quartiles(each, energy)
    np.testing.assert_allclose([found.response_low, found.response, found.response_high], expected, rtol=1e-9)


def test_no_signal_has_more_energy_at_an_eigenvalue_than_is_possible() -> None:
    """The Gauss quadrature attains the bound at its points, and the true spectral measure stays below it."""
    fact = factored(hops=3)
    density = density_of(fact.tridiagonal)
    at_points = torch.stack(
        [
            possible_energy(fact.tridiagonal.orthonormal_polynomials(density.lam[:, channel]))[:, channel]
            for channel in range(6)
        ],
        dim=1,
    )
    torch.testing.assert_close(at_points, density.energy)
    # With all its dimensions the quadrature is the true measure.
    true = density_of(factored(hops=70).tridiagonal)
    for channel in range(6):
        bound = possible_energy(fact.tridiagonal.orthonormal_polynomials(true.lam[:, channel]))[:, channel]
        assert (true.energy[:, channel] <= bound + 1e-9).all()


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_equal_weights_give_the_quartiles_of_textbooks(count: int) -> None:
    values = np.random.default_rng(count).standard_normal((2, count))
    expected = np.quantile(values, (0.25, 0.5, 0.75), axis=1, method="inverted_cdf")
    np.testing.assert_allclose(weighted_quartiles(values, np.full((2, count), 0.3)), expected)


def test_what_has_no_energy_does_not_count() -> None:
    values, weights = np.array([[3.0, 1e9, 1.0, 2.0, -1e9]]), np.array([[1.0, 1e-13, 1.0, 1.0, 1e-13]])
    np.testing.assert_array_equal(weighted_quartiles(values, weights)[:, 0], [1.0, 2.0, 3.0])
    # A weight of two is the value twice.
    np.testing.assert_array_equal(weighted_quartiles(np.array([[5.0, 1.0]]), np.array([[2.0, 1.0]]))[:, 0], [1, 5, 5])


def test_the_axis_fits_the_eigenvalues_with_energy_and_zero() -> None:
    grows = np.where(GRID > 1.5, 1e6, 2.0)
    curves = Curves(GRID, GRID, GRID, grows, grows - 1, grows + 1)
    assert response_axis(curves, (0.0, 1.5)) == pytest.approx((-0.18, 3.18))
    assert response_axis(curves, (0.0, 2.0))[1] > 1e6
    nothing = np.zeros_like(GRID)
    assert response_axis(Curves(GRID, GRID, GRID, nothing, nothing, nothing), (0.0, 2.0)) == (-1.0, 1.0)


def test_channels_without_a_signal_do_not_count() -> None:
    graph = Graph.from_edges(torch.tensor([[0, 1, 2], [1, 2, 0]]))
    x = torch.tensor([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    kept, which = with_signal(factorize(graph, x, 2).tridiagonal)
    assert (kept.channels, which.tolist(), kept.alpha.dtype) == (1, [1], torch.float64)
    with pytest.raises(ValueError, match="all feature columns are zero, so there is no signal to explain"):
        with_signal(factorize(graph, x[:, :1], 2).tridiagonal)
