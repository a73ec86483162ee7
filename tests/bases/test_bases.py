"""The paper's theorems for its own bases, users' own bases, and what is said about wrong ones."""

from __future__ import annotations

import math
from collections.abc import Iterator

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import eval_chebyu
from strategies import connected_graph, graphs, signals

from unifilter import Graph, dirichlet_energy, factorize, signal_frequency
from unifilter.bases import Basis, Heterophily, Monomial, PolynomialBasis, Tridiagonal, Uni, make_basis
from unifilter.bases.base import Multiply


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


class SecondKind(PolynomialBasis):
    """A polynomial family of a user: Chebyshev polynomials of the second kind, U_k(P)."""

    def sequence(self, multiply: Multiply, start: torch.Tensor, hops: int) -> Iterator[torch.Tensor]:
        before, here = torch.zeros_like(start), start
        for _ in range(hops + 1):
            yield here
            before, here = here, 2 * multiply(here) - before


class Partial(Basis):
    """A basis of a user that adapts to the signal: the sums of the first Lanczos vectors, times a factor."""

    def __init__(self, factor: float = 2.0) -> None:
        self.factor = factor

    def coefficients(self, tridiagonal: Tridiagonal) -> torch.Tensor:
        rows = torch.ones(tridiagonal.hops + 1, tridiagonal.hops + 1, dtype=tridiagonal.alpha.dtype).tril()
        return self.factor * rows[:, :, None].repeat(1, 1, tridiagonal.channels)


def test_a_polynomial_family_in_one_method() -> None:
    mu = torch.linspace(-1, 1, 9, dtype=torch.float64)
    for k, values in enumerate(SecondKind().evaluate(1 - mu, hops=5)):
        np.testing.assert_allclose(values, eval_chebyu(k, mu.numpy()), atol=1e-14)
    graph = connected_graph()
    x = signals(graph, 2, 0)
    fact = factorize(graph, x, 5)
    direct = torch.stack(list(SecondKind().sequence(graph.propagate, x, 5)))
    for own in (SecondKind, SecondKind()):
        assert torch.allclose(fact.basis(own), direct, atol=1e-12)
        assert torch.equal(fact.evaluate(own, 1 - mu), SecondKind().evaluate(1 - mu, hops=5))
        for level, vectors in zip(fact.frequencies(own), direct, strict=True):
            assert torch.allclose(level, signal_frequency(graph, vectors), atol=1e-9)
    assert SecondKind().identity_weights(3).tolist() == [1, 0, 0, 0]


def test_a_basis_of_ones_own_that_adapts_to_the_signal() -> None:
    graph = connected_graph()
    fact = factorize(graph, signals(graph, 2, 0), 5)
    for own, factor in ((Partial, 2.0), (Partial(3.0), 3.0), (make_basis(Partial, factor=4.0), 4.0)):
        assert torch.allclose(fact.basis(own), factor * fact.vectors.cumsum(dim=0), atol=1e-12)
    assert torch.equal(fact.basis(Partial, factor=5.0), fact.basis(Partial(5.0)))
    assert repr(make_basis(Partial)) == "Partial(factor=2.0)"
    with pytest.raises(ValueError, match="the basis Partial takes factor: .*'weight'"):
        fact.basis(Partial, weight=1.0)


def test_self_loops_are_a_matter_of_the_graph() -> None:
    """The powers with self-loops of SGC and GPR-GNN are the monomial basis on the graph that has them."""
    edges = np.array([[0, 1, 2, 3, 0], [1, 2, 3, 4, 2]])
    adjacency = np.zeros((6, 6))
    adjacency[edges[0], edges[1]] = 1
    adjacency = adjacency + adjacency.T + np.eye(6)
    scale = adjacency.sum(axis=1) ** -0.5
    matrix = scale[:, None] * adjacency * scale
    looped = Graph.from_edges(edges, num_nodes=6, self_loops="add")
    x = signals(looped, 2, 0)
    powers = np.stack([np.linalg.matrix_power(matrix, k) @ x.numpy() for k in range(5)])
    np.testing.assert_allclose(factorize(looped, x, 4).basis("monomial"), powers, atol=1e-7)
    # Node 5 is isolated: its loop keeps its signal, where without loops nothing arrives.
    np.testing.assert_allclose(powers[:, 5], np.stack([x[5]] * 5))
    plain = factorize(Graph.from_edges(edges, num_nodes=6), x, 4).basis("monomial")
    assert plain[1:, 5].abs().max() < 1e-7


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
    with pytest.raises(ValueError, match="there is no basis 'fourier': choose one of bernstein, .*homophily, jacobi"):
        fact.basis("fourier")
    with pytest.raises(ValueError, match="the basis Uni takes tau, homophily, formulation: missing .*'tau'"):
        fact.basis("uni")
    with pytest.raises(ValueError, match="the basis Monomial takes nothing: .*'tau'"):
        fact.basis("homophily", tau=0.3)
    with pytest.raises(ValueError, match=r"Monomial\(\) is an instance: pass tau when you create it"):
        make_basis(Monomial(), tau=0.1)
    with pytest.raises(ValueError, match="a basis must be a name, a Basis or a Basis class, not int"):
        make_basis(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="formulation must be one of 'paper', 'released', not 'mine'"):
        fact.basis("uni", tau=0.3, homophily=0.3, formulation="mine")
    with pytest.raises(ValueError, match='divides by cos.*use formulation="paper"'):
        fact.basis("uni", tau=0.3, homophily=0.0, formulation="released")
    with pytest.raises(ValueError, match="Uni adapts to the signal.*evaluate\\(lam, fact.tridiagonal\\)"):
        Uni(0.3, 0.3).evaluate(torch.zeros(1))
    with pytest.raises(ValueError, match="the degree is missing"):
        Monomial().evaluate(torch.zeros(1))
    with pytest.raises(ValueError, match="hops must be a whole number of at least 1, not 0"):
        Monomial().evaluate(torch.zeros(1), hops=0)


def test_what_is_said_where_no_weights_give_the_signal_back() -> None:
    for adaptive in (make_basis("orthonormal"), Heterophily(0.4), Uni(0.3, 0.4), Partial()):
        with pytest.raises(ValueError, match=r"\w+\(.*\) adapts to the signal, so no fixed weights reproduce every"):
            adaptive.identity_weights(10)

    class Tail(PolynomialBasis):
        def sequence(self, multiply: Multiply, start: torch.Tensor, hops: int) -> Iterator[torch.Tensor]:
            yield multiply(start)

    with pytest.raises(ValueError, match=r"Tail\(\) does not start with the constant 1.*define Tail.identity_weights"):
        Tail().identity_weights(3)
    for family in ("monomial", "bernstein", "chebyshev_interpolation"):
        for hops in (0, None):
            with pytest.raises(ValueError, match=f"hops must be a whole number of at least 1, not {hops}"):
                make_basis(family).identity_weights(hops)  # type: ignore[arg-type]
