from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from unifilter import Factorization, Graph, factorize
from unifilter.explanation.curves import GRID, Curves, compute_curves, with_signal


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
    values = fact.evaluate("uni", torch.from_numpy(GRID), tau=0.4, homophily=0.7)
    each = torch.einsum("klc,kc->lc", values, weights).numpy()
    found = curves_of(fact, 0.4, 0.7, weights)
    np.testing.assert_allclose(found.response, np.median(each, axis=1), rtol=1e-9)
    np.testing.assert_allclose(found.response_high, np.quantile(each, 0.75, axis=1), rtol=1e-9)


def test_channels_without_a_signal_do_not_count() -> None:
    graph = Graph.from_edges(torch.tensor([[0, 1, 2], [1, 2, 0]]))
    x = torch.tensor([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    kept, which = with_signal(factorize(graph, x, 2).tridiagonal)
    assert (kept.channels, which.tolist(), kept.alpha.dtype) == (1, [1], torch.float64)
    with pytest.raises(ValueError, match="all feature columns are zero, so there is no signal to explain"):
        with_signal(factorize(graph, x[:, :1], 2).tridiagonal)
