"""One contract for every basis, and the paper's theorems for its own."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from typing import TypeVar

import networkx as nx
import numpy as np
import pytest
import torch
from dense import propagation_matrix
from hypothesis import given
from hypothesis import strategies as st
from strategies import connected_graph, graphs, signals

from unifilter import Graph, dirichlet_energy, factorize
from unifilter.bases import BASES, Basis, Heterophily, Monomial, PolynomialBasis, Uni, make_basis
from unifilter.bases.base import Multiply

AnyBasis = TypeVar("AnyBasis", bound=Basis)
PARAMETERS = {"tau": 0.3, "homophily": 0.4}


def example_of(family: type[AnyBasis]) -> AnyBasis:
    """An instance with values for whatever parameters the family has."""
    names = inspect.signature(family).parameters
    return family(**{name: value for name, value in PARAMETERS.items() if name in names})


@pytest.mark.parametrize("family", sorted(set(BASES.values()), key=lambda f: f.__name__))
class TestContract:
    @pytest.mark.parametrize("hops", [1, 6])
    def test_equals_the_dense_eigendecomposition_filter(self, family: type[Basis], hops: int) -> None:
        graph = connected_graph(30)
        x = signals(graph, 3, 0)
        fact = factorize(graph, x, hops)
        basis = example_of(family)
        values, directions = np.linalg.eigh(np.eye(30) - propagation_matrix(graph))
        responses = basis.evaluate(torch.from_numpy(values), fact.tridiagonal)
        if responses.ndim == 2:
            responses = responses[:, :, None].expand(-1, -1, 3)
        modes = torch.from_numpy(directions)
        filtered = modes @ (responses * (modes.T @ x))
        assert torch.allclose(fact.basis(basis), filtered, atol=1e-9)
        assert torch.equal(
            fact.evaluate(basis, torch.from_numpy(values)), basis.evaluate(torch.from_numpy(values), fact.tridiagonal)
        )

    def test_shapes_and_dtypes(self, family: type[Basis]) -> None:
        graph = connected_graph(20)
        for dtype in (torch.float32, torch.float64):
            fact = factorize(graph, signals(graph, 2, 0, dtype), 4)
            basis = example_of(family)
            assert fact.coefficients(basis).shape == (5, 5, 2)
            assert fact.coefficients(basis).dtype == fact.basis(basis).dtype == fact.frequencies(basis).dtype == dtype
            assert fact.basis(basis).shape == (5, 20, 2)

    def test_disconnected_graph_with_an_isolated_node_and_a_zero_column(self, family: type[Basis]) -> None:
        graph = Graph.from_edges(np.array([[0, 1, 3], [1, 2, 4]]), num_nodes=6)
        x = torch.eye(6)[:, [0, 3, 5]]
        x[:, 1] = 0
        fact = factorize(graph, x, 5)
        assert torch.isfinite(fact.basis(example_of(family))).all()
        assert (fact.basis(example_of(family))[:, :, 1] == 0).all()
        assert torch.isfinite(fact.evaluate(example_of(family), torch.linspace(0, 2, 7))).all()

    def test_repr_can_be_read_back(self, family: type[Basis]) -> None:
        basis = example_of(family)
        names = {f.__name__: f for f in BASES.values()}
        assert repr(eval(repr(basis), names)) == repr(basis)


@pytest.mark.parametrize("family", sorted({f for f in BASES.values() if issubclass(f, PolynomialBasis)}, key=str))
def test_polynomial_families_equal_their_direct_evaluation(family: type[PolynomialBasis]) -> None:
    basis = example_of(family)
    graph = connected_graph(30)
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.float64, 1e-12)):
        x = signals(graph, 3, 0, dtype)
        direct = torch.stack(list(basis.sequence(graph.propagate, x, 7)))
        assert torch.allclose(factorize(graph, x, 7).basis(basis), direct, atol=tolerance)


@given(graphs(), st.integers(1, 8), st.floats(0, 1), st.integers(0, 99))
def test_theorem_4_3_every_pair_meets_at_the_same_angle(graph: Graph, hops: int, homophily: float, seed: int) -> None:
    fact = factorize(graph, signals(graph, 3, seed), hops)
    basis = fact.basis("heterophily", homophily=homophily)
    cosine = math.cos((1 - homophily) * math.pi / 2)
    for channel, dimension in enumerate(fact.dimension.tolist()):
        reached = basis[:dimension, :, channel]
        expected = torch.full((dimension, dimension), cosine, dtype=torch.float64).fill_diagonal_(1.0)
        assert torch.allclose(reached @ reached.T, expected, atol=1e-6)


@pytest.mark.parametrize("homophily", [0.0, 1.0])
def test_theorem_4_3_at_both_ends(homophily: float) -> None:
    graph = connected_graph()
    fact = factorize(graph, signals(graph, 2, 0), 9)
    basis = fact.basis("heterophily", homophily=homophily)
    same_as = fact.vectors if homophily == 0 else fact.vectors[:1].expand(10, -1, -1)
    assert torch.allclose(basis, same_as, atol=1e-12)


def test_theorem_4_1_angles_of_the_homophily_basis_shrink_to_zero() -> None:
    graph = connected_graph()
    x = signals(graph, 5, 0)
    basis = factorize(graph, x, 60).basis("homophily")
    unit = basis / basis.norm(dim=1, keepdim=True)
    cosines = (unit[:-1] * unit[1:]).sum(dim=1)
    angles = torch.arccos(cosines.clamp(-1, 1))
    assert angles[0].min() > 0.1
    assert angles[-1].max() < 1e-3
    # From some hop on they only shrink.
    assert (angles[20:-1] >= angles[21:] - 1e-7).all()


def test_theorem_4_1_needs_a_graph_that_is_not_bipartite() -> None:
    path = Graph.from_edges(np.array([[0, 1, 2], [1, 2, 3]]))
    basis = factorize(path, torch.tensor([[1.0], [0.0], [0.0], [0.0]], dtype=torch.float64), 3).basis("homophily")
    assert (basis[:-1] * basis[1:]).sum(dim=1).abs().max() < 1e-12


@pytest.mark.parametrize("tau", [0.2, 0.8, 1.0])
def test_theorem_5_2_measured_limit_on_a_regular_graph(tau: float) -> None:
    """P^k x becomes constant, so (1 - tau)^2 of the heterophily basis' energy is what remains."""
    graph = Graph.from_networkx(nx.random_regular_graph(6, 300, seed=1))
    x = signals(graph, 4, 0)
    fact = factorize(graph, x, 100)
    energy = dirichlet_energy(graph, fact.basis("uni", tau=tau, homophily=0.3))
    rotated = dirichlet_energy(graph, fact.basis("heterophily", homophily=0.3))
    assert torch.allclose(energy[-20:], (1 - tau) ** 2 * rotated[-20:], atol=1e-9)
    # No over-smoothing while tau < 1, but the limit is not the (1 - tau) E(X) that the theorem states.
    assert (energy[-1] > 1e-3) == (tau < 1)
    if tau < 1:
        assert abs(energy[-1] / ((1 - tau) * dirichlet_energy(graph, x)) - 1) > 0.1


def test_theorem_5_2_leaves_energy_on_other_graphs_even_at_tau_1() -> None:
    graph = connected_graph()
    x = signals(graph, 3, 0)
    smooth = factorize(graph, x, 200).basis("homophily")
    limit = graph.degree.sqrt()[:, None] / graph.degree.sum().sqrt()
    expected = dirichlet_energy(graph, limit @ (limit.T @ x))
    assert expected > 1e-3
    assert dirichlet_energy(graph, smooth[-1]).item() == pytest.approx(expected.item(), rel=1e-6)


@pytest.mark.parametrize("tau", [0.0, 0.4, 1.0])
def test_uni_is_the_mixture(tau: float) -> None:
    graph = connected_graph()
    fact = factorize(graph, signals(graph, 2, 0), 5)
    mixture = tau * fact.basis("homophily") + (1 - tau) * fact.basis("heterophily", homophily=0.7)
    assert torch.allclose(fact.basis("uni", tau=tau, homophily=0.7), mixture, atol=1e-12)


def test_released_formulation_is_the_published_recurrence() -> None:
    """The published steps on whole vectors, against ours on coordinates."""
    graph, tau, homophily, hops = connected_graph(), 0.3, 0.35, 6
    x = signals(graph, 3, 4)
    cosine = math.cos((1 - homophily) * math.pi / 2)
    smooth, last, before, total = x, x / x.norm(dim=0), torch.zeros_like(x), x / x.norm(dim=0)
    mixed = [x]
    for k in range(1, hops + 1):
        smooth = graph.propagate(smooth)
        following = graph.propagate(last)
        following = following - (following * last).sum(0) * last - (following * before).sum(0) * before
        following = following / following.norm(dim=0)
        root = (((total / k) * mixed[-1]).sum(0) / cosine) ** 2 - ((k - 1) * cosine + 1) / k
        rotated = total / k + torch.nan_to_num(torch.sqrt(root), nan=0.0) * following
        rotated = rotated / rotated.norm(dim=0)
        total = total + rotated
        mixed.append(tau * smooth + (1 - tau) * rotated)
        last, before = following, last
    found = factorize(graph, x, hops).basis("uni", tau=tau, homophily=homophily, formulation="released")
    assert torch.allclose(found, torch.stack(mixed), atol=1e-9)
    # It is not the paper's: Theorem 4.3 does not hold for it.
    released = factorize(graph, x, hops).basis("heterophily", homophily=homophily, formulation="released")[1:, :, 0]
    assert (released @ released.T - cosine).fill_diagonal_(0).abs().max() > 0.05


def test_a_polynomial_family_in_one_method() -> None:
    class Legendre(PolynomialBasis):
        def sequence(self, multiply: Multiply, start: torch.Tensor, hops: int) -> Iterator[torch.Tensor]:
            before, here = torch.zeros_like(start), start
            for k in range(hops + 1):
                yield here
                before, here = here, ((2 * k + 1) * multiply(here) - k * before) / (k + 1)

    mu = torch.linspace(-1, 1, 9, dtype=torch.float64)
    values = Legendre().evaluate(1 - mu, hops=5)
    for k in range(6):
        expected = np.polynomial.legendre.legval(mu.numpy(), np.eye(6)[k])
        np.testing.assert_allclose(values[k], expected, atol=1e-14)
    graph = connected_graph()
    x = signals(graph, 2, 0)
    fact = factorize(graph, x, 5)
    direct = torch.stack(list(Legendre().sequence(graph.propagate, x, 5)))
    for family in (Legendre, Legendre()):
        assert torch.allclose(fact.basis(family), direct, atol=1e-12)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), None, "much"])
def test_tau_and_homophily_lie_between_0_and_1(value: float) -> None:
    with pytest.raises(ValueError, match=r"tau must lie in \[0, 1\], not .*: pass a value between 0 and 1"):
        Uni(tau=value, homophily=0.5)
    with pytest.raises(ValueError, match=r"homophily must lie in \[0, 1\]"):
        Uni(tau=0.5, homophily=value)
    with pytest.raises(ValueError, match=r"homophily must lie in \[0, 1\]"):
        Heterophily(value)


def test_what_is_said_about_wrong_bases() -> None:
    fact = factorize(connected_graph(), torch.eye(60)[:, :1], 2)
    with pytest.raises(ValueError, match="there is no basis 'fourier': choose one of heterophily, homophily, monomial"):
        fact.basis("fourier")
    with pytest.raises(ValueError, match="the basis Uni takes tau, homophily, formulation: missing .*'tau'"):
        fact.basis("uni")
    with pytest.raises(ValueError, match="the basis Monomial takes nothing: .*'tau'"):
        fact.basis("homophily", tau=0.3)
    with pytest.raises(ValueError, match=r"Monomial\(\) is already built: pass tau when you build it"):
        make_basis(Monomial(), tau=0.1)
    with pytest.raises(ValueError, match="a basis is a name, a Basis or a Basis class, not int"):
        make_basis(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="formulation must be one of 'paper', 'released', not 'mine'"):
        fact.basis("uni", tau=0.3, homophily=0.3, formulation="mine")
    with pytest.raises(ValueError, match='divides by cos.*use formulation="paper"'):
        fact.basis("uni", tau=0.3, homophily=0.0, formulation="released")
    with pytest.raises(ValueError, match="Uni adapts to the signal.*evaluate\\(lam, fact.tridiagonal\\)"):
        Uni(0.3, 0.3).evaluate(torch.zeros(1))
    with pytest.raises(ValueError, match="say up to which degree"):
        Monomial().evaluate(torch.zeros(1))
