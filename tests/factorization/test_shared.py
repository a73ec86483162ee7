"""One recurrence for all channels: its theorems, sketches, exhausted spaces and errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from dense import propagation_matrix
from hypothesis import given
from hypothesis import strategies as st
from real_graphs import needs_data, real_graph
from strategies import connected_graph, graphs, signals

from unifilter import Graph, SharedFactorization, Tridiagonal, factorize, signal_frequency
from unifilter.bases import BASES, make_basis
from unifilter.factorization import shared as module
from unifilter.factorization.pooling import pooled

# What truncating an exhausted space may cost, relative to the signal: the breakdown rule times a little.
TOLERANCE = {torch.float32: 5e-5, torch.float64: 1e-6}
BOTH = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


def shared(graph: Graph, x: object, hops: int, **options: int) -> SharedFactorization:
    return factorize(graph, x, hops, channels="shared", **options)


def powers(graph: Graph, x: torch.Tensor, hops: int) -> torch.Tensor:
    terms = [x]
    for _ in range(hops):
        terms.append(graph.propagate(terms[-1]))
    return torch.stack(terms)


def mean_inner(vectors: torch.Tensor, fact: SharedFactorization) -> torch.Tensor:
    """Inner products of the vectors as a whole, averaged over the columns that are not zero."""
    vectors = vectors.double()
    return torch.einsum("inc,jnc->ij", vectors, vectors) / max(int((fact.norm > 0).sum()), 1)


def matrix_lanczos(matrix: np.ndarray, x: np.ndarray, hops: int) -> list[np.ndarray]:
    """``V_0 .. V_hops`` by Gram-Schmidt in the inner product of matrices, from the powers of P."""
    vectors: list[np.ndarray] = []
    following = x / np.linalg.norm(x, axis=0)
    for _ in range(hops + 1):
        for _ in range(2):
            for vector in vectors:
                following = following - np.sum(vector * following) / x.shape[1] * vector
        vectors.append(following / np.sqrt(np.sum(following**2) / x.shape[1]))
        following = matrix @ vectors[-1]
    return vectors


@given(graphs(), st.integers(1, 12), st.integers(0, 99), st.sampled_from([torch.float32, torch.float64]))
def test_identities_hold_on_any_graph(graph: Graph, hops: int, seed: int, dtype: torch.dtype) -> None:
    x = signals(graph, 4, seed, dtype)
    fact = shared(graph, x, hops)
    tolerance = TOLERANCE[dtype]
    vectors = fact.vectors
    assert torch.isfinite(vectors).all()
    reached = fact.tridiagonal.reached.any(dim=1).double()
    assert (mean_inner(vectors, fact) - torch.diag(reached)).abs().max() < tolerance
    # P^k x from the shared tridiagonal is P^k x from sparse products.
    scale = x.norm(dim=0).max() + 1e-30
    assert (fact.basis("homophily") - powers(graph, x, hops)).abs().max() < tolerance * scale


@BOTH
@pytest.mark.parametrize("homophily", [0.0, 0.23, 0.8, 1.0])
def test_the_mean_inner_product_is_the_cosine(dtype: torch.dtype, homophily: float) -> None:
    """Theorem 4.3 for the signal as a whole; single channels deviate from it."""
    graph = connected_graph()
    fact = shared(graph, signals(graph, 9, 2, dtype), 8)
    cosine = math.cos((1 - homophily) * math.pi / 2)
    expected = torch.full((9, 9), cosine, dtype=torch.float64).fill_diagonal_(1)
    rotated = fact.basis("heterophily", homophily=homophily)
    assert (mean_inner(rotated, fact) - expected).abs().max() < (1e-5 if dtype == torch.float32 else 1e-12)
    diagnostics = fact.diagnostics(homophily)
    assert diagnostics.orthogonality_loss < 1e-12
    assert diagnostics.angle_error < 1e-12
    assert diagnostics.expected_angle == pytest.approx((1 - homophily) * 90)
    # The angles of the channels are those of their vectors, which the diagnostics never look at.
    if homophily < 1:
        columns = rotated.double().permute(2, 0, 1)
        columns = columns / columns.norm(dim=2, keepdim=True)
        angles = torch.rad2deg(torch.arccos((columns @ columns.transpose(1, 2)).clamp(-1, 1)))
        pairs = torch.triu_indices(9, 9, offset=1)
        mean = angles[:, pairs[0], pairs[1]].mean(dim=1)
        assert torch.allclose(diagnostics.channel_angle, mean, atol=1e-2)
        assert mean.std() > 0.5


def test_agrees_with_dense_gram_schmidt_of_matrices() -> None:
    graph = connected_graph()
    x = signals(graph, 7, 5)
    fact = shared(graph, x, 7)
    np.testing.assert_allclose(fact.vectors, matrix_lanczos(propagation_matrix(graph), x.numpy(), 7), atol=1e-9)


@given(graphs(), st.integers(1, 12), st.integers(0, 99))
def test_of_one_column_it_is_the_factorization_of_that_column(graph: Graph, hops: int, seed: int) -> None:
    x = signals(graph, 2, seed)[:, 1:]
    one, other = factorize(graph, x, hops), shared(graph, x, hops)
    assert torch.equal(one.dimension, other.dimension)
    assert torch.allclose(one.norm, other.norm)
    for name, mix in (("orthonormal", {}), ("uni", {"tau": 0.3, "homophily": 0.4}), ("chebyshev", {})):
        assert torch.allclose(one.basis(name, **mix), other.basis(name, **mix), atol=1e-6)
        assert torch.allclose(one.frequencies(name, **mix), other.frequencies(name, **mix), atol=1e-6)
    assert torch.allclose(one.alpha, other.alpha, atol=1e-6)


def test_every_basis_answers_with_the_same_shapes() -> None:
    graph = connected_graph()
    x = signals(graph, 5, 0)
    each, fact = factorize(graph, x, 6), shared(graph, x, 6)
    lam = torch.linspace(0, 2, 5, dtype=torch.float64)
    parameters = {"uni": {"tau": 0.4, "homophily": 0.3}, "heterophily": {"homophily": 0.3}}
    for name in BASES:
        mix = parameters.get(name, {})
        direct = each.basis(name, **mix)
        found = fact.basis(name, **mix)
        assert found.shape == direct.shape, name
        assert fact.frequencies(name, **mix).shape == each.frequencies(name, **mix).shape
        assert fact.evaluate(name, lam, **mix).shape == each.evaluate(name, lam, **mix).shape
        if name not in ("uni", "heterophily", "orthonormal"):
            assert torch.allclose(found, direct, atol=1e-10), name  # of a fixed family the vectors are the same


def test_frequencies_are_those_of_the_signal_as_a_whole() -> None:
    graph = connected_graph()
    fact = shared(graph, signals(graph, 6, 1), 5)
    frequencies = fact.frequencies("heterophily", homophily=0.4)
    for found, vectors in zip(frequencies, fact.basis("heterophily", homophily=0.4), strict=True):
        energy = (vectors**2).sum(dim=0)
        whole = (signal_frequency(graph, vectors) * energy).sum() / energy.sum()
        assert torch.allclose(found, whole.expand(6), atol=1e-12)


def test_truncated_it_is_what_fewer_hops_give() -> None:
    graph = connected_graph()
    x = signals(graph, 6, 1)
    direct, truncated = shared(graph, x, 4), shared(graph, x, 9).truncate(4)
    assert truncated.hops == 4
    assert torch.allclose(truncated.vectors, direct.vectors, atol=1e-10)
    assert truncated.diagnostics().angle_error < 1e-12
    assert direct.truncate(4) is direct


class TestBreakdown:
    """As for a factorization of each channel: later vectors are zero, the rest of the table holds."""

    def test_more_hops_than_the_space_has_dimensions(self) -> None:
        graph = Graph.from_edges(np.array([[0, 1, 2], [1, 2, 0]]))
        x = torch.tensor([[1.0, 0.0], [0.5, 3.0], [-0.2, 1.0]], dtype=torch.float64)
        fact = shared(graph, x, 20)
        assert fact.dimension.tolist() == [2, 2]  # a triangle has two distinct eigenvalues
        assert torch.equal(fact.vectors[2:], torch.zeros(19, 3, 2, dtype=torch.float64))
        assert torch.allclose(fact.basis("homophily"), powers(graph, x, 20), atol=1e-12)
        rotated = mean_inner(fact.basis("heterophily", homophily=0.5), fact)[:2, :2]
        assert torch.allclose(rotated, torch.tensor([[1, 0.5**0.5], [0.5**0.5, 1]]).double(), atol=1e-12)

    @BOTH
    def test_an_almost_exhausted_space(self, dtype: torch.dtype) -> None:
        """Where the last polynomials are large between the frequencies of a small weighted graph."""
        for seed in range(20):
            random = np.random.default_rng(seed)
            edges = np.stack([np.arange(12), (np.arange(12) + 1) % 12])
            graph = Graph.from_edges(edges, edge_weight=random.uniform(0.1, 3, 12))
            x = signals(graph, 4, seed, dtype)
            fact = shared(graph, x, 11)
            loss = mean_inner(fact.vectors, fact) - torch.diag(fact.tridiagonal.reached[:, 0].double())
            assert loss.abs().max() < (1e-5 if dtype == torch.float32 else 1e-6)

    def test_disconnected_graphs_share_one_recurrence(self) -> None:
        # A path of three nodes beside a ring of four, and an isolated node.
        graph = Graph.from_edges(np.array([[0, 1, 3, 4, 5, 6], [1, 2, 4, 5, 6, 3]]), num_nodes=8)
        x = torch.zeros(8, 3, dtype=torch.float64)
        x[0, 0], x[7, 2] = 2.0, 1.0
        x[3:7, 1] = torch.tensor([1.0, 0.3, -2.0, 0.1])
        fact = shared(graph, x, 6)
        # Eigenvalues 1, 0, -1 are all there are, on whatever component.
        assert fact.dimension.tolist() == [3, 3, 3]
        assert torch.allclose(fact.basis("homophily"), powers(graph, x, 6), atol=1e-12)

    def test_zero_columns(self) -> None:
        graph = connected_graph()
        x = signals(graph, 3, 0)
        x[:, 1] = 0
        fact = shared(graph, x, 4)
        assert fact.dimension.tolist() == [5, 0, 5]
        assert torch.equal(fact.vectors[:, :, 1], torch.zeros(5, 60, dtype=torch.float64))
        assert torch.equal(fact.basis("uni", tau=0.5, homophily=0.5)[:, :, 1], torch.zeros(5, 60, dtype=torch.float64))
        assert fact.diagnostics().zero_columns.tolist() == [1]
        kept = shared(graph, x[:, [0, 2]], 4)
        assert torch.allclose(kept.alpha, fact.alpha[:, [0, 2]])

    def test_nothing_but_zeros(self) -> None:
        fact = shared(connected_graph(), torch.zeros(60, 2), 3)
        assert fact.dimension.tolist() == [0, 0]
        assert torch.equal(fact.basis("uni", tau=0.5, homophily=0.5), torch.zeros(4, 60, 2))
        with pytest.raises(ValueError, match="all feature columns are zero, so there are no angles: pass other"):
            fact.diagnostics()


@pytest.mark.parametrize("layout", ["dense", "csr", "csc", "scipy", "scipy-duplicates"])
@pytest.mark.parametrize("sketch", [None, 16])
def test_every_kind_of_features(layout: str, sketch: int | None) -> None:
    graph = connected_graph()
    x = signals(graph, 70, 3, torch.float32)
    x[torch.rand(x.shape, generator=torch.Generator().manual_seed(0)) < 0.7] = 0
    halves = sp.csc_array(x.numpy())
    halves = sp.csc_array((np.repeat(halves.data / 2, 2), np.repeat(halves.indices, 2), 2 * halves.indptr), x.shape)
    given: object = {
        "dense": x,
        "csr": x.to_sparse_csr(),
        "csc": x.to_sparse_csc(),
        "scipy": sp.csr_matrix(x.numpy()),
        "scipy-duplicates": halves,
    }[layout]
    options = {} if sketch is None else {"sketch": sketch}
    expected, found = shared(graph, x, 4, **options), shared(graph, given, 4, **options)
    assert torch.allclose(found.norm, expected.norm)
    assert torch.allclose(found.alpha, expected.alpha, atol=1e-5)
    assert torch.allclose(found.vectors, expected.vectors, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_tiny_and_huge_signals(scale: float) -> None:
    graph = connected_graph()
    x = signals(graph, 3, 0, torch.float32)
    assert torch.allclose(shared(graph, x * scale, 5).vectors, shared(graph, x, 5).vectors, atol=1e-5)


class TestSketch:
    def test_any_recurrence_gives_a_valid_basis(self) -> None:
        graph = connected_graph()
        x = signals(graph, 40, 1)
        fact = shared(graph, x, 6, sketch=4)
        assert fact.sketch == 4
        assert torch.allclose(fact.basis("homophily"), powers(graph, x, 6), atol=1e-10)

    def test_its_error_is_estimated(self) -> None:
        """Of many sketches three in four are no further from the truth than twice what they say, hardly one further
        than five times.
        """
        graph = connected_graph(200)
        x = signals(graph, 300, 4)
        cosine = math.sin(0.3 * math.pi / 2)
        target = torch.full((7, 7), cosine, dtype=torch.float64).fill_diagonal_(1)
        ratios = []
        for seed in range(20):
            fact = shared(graph, x, 6, sketch=24, seed=seed)
            error = (mean_inner(fact.basis("heterophily", homophily=0.3), fact) - target).abs().max()
            ratios.append(float(error) / fact.diagnostics(0.3).angle_error)
        assert np.quantile(ratios, 0.75) < 2
        assert max(ratios) < 5
        assert np.median(ratios) > 0.2  # and no idle bound either

    def test_a_larger_sketch_is_more_accurate(self) -> None:
        graph = connected_graph(200)
        x = signals(graph, 300, 4)
        exact = shared(graph, x, 6)
        errors = [
            np.mean([float((shared(graph, x, 6, sketch=s, seed=k).alpha - exact.alpha).abs().max()) for k in range(8)])
            for s in (4, 64)
        ]
        assert errors[1] < errors[0] / 2

    def test_the_same_seed_gives_the_same_and_another_another(self) -> None:
        graph = connected_graph()
        x = signals(graph, 40, 1)
        one, same, other = (shared(graph, x, 5, sketch=4, seed=seed).alpha for seed in (1, 1, 2))
        assert torch.equal(one, same)
        assert not torch.allclose(one, other)

    def test_no_fewer_columns_than_there_are_is_all_of_them(self) -> None:
        graph = connected_graph()
        x = signals(graph, 5, 1)
        fact = shared(graph, x, 5, sketch=5)
        assert fact.sketch is None
        assert torch.equal(fact.alpha, shared(graph, x, 5).alpha)

    def test_columns_that_cancel(self) -> None:
        graph = connected_graph()
        x = signals(graph, 1, 1).repeat(1, 2)
        # Of two random signs both are the same, or they are not: one of the two signals cancels.
        refused = 0
        for other in (x, x * torch.tensor([1.0, -1.0])):
            try:
                assert shared(graph, other, 5, sketch=1).dimension.tolist() == [6, 6]
            except ValueError:
                refused += 1
                with pytest.raises(ValueError, match="the columns cancel in every one of the 1 columns of the sketch"):
                    shared(graph, other, 5, sketch=1)
        assert refused == 1

    def test_single_precision_suffices(self) -> None:
        graph = connected_graph(60)
        x = signals(graph, 40, 0, torch.float32)
        single, double = shared(graph, x, 6, sketch=16), shared(graph, x.double(), 6, sketch=16)
        assert single.alpha.dtype == torch.float64
        assert torch.allclose(single.alpha, double.alpha, atol=1e-4)
        assert torch.allclose(single.beta, double.beta, atol=1e-4)

    def test_the_end_of_a_space_is_found_in_double_precision(self) -> None:
        """Paths of three nodes have three eigenvalues: rounding of single precision would add dimensions."""
        path = torch.tensor([[0, 1], [1, 2]])
        graph = Graph.from_edges(torch.cat([path + 3 * k for k in range(20)], dim=1))
        x = torch.randn(60, 40, generator=torch.Generator().manual_seed(0))
        assert shared(graph, x, 8, sketch=8).dimension.tolist() == [3] * 40


def test_the_width_of_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are never narrower than the vectors that the compiled factorization computes with."""
    graph = connected_graph(60)
    x, widths = signals(graph, 40, 0), []
    whole = shared(graph, x, 6)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 1)
    factorize_each = module.factorize_each
    monkeypatch.setattr(module, "factorize_each", lambda *a: (widths.append(a[1].shape[1]), factorize_each(*a))[1])
    blocks = shared(graph, x, 6)
    assert widths == [16, 16, 8]
    assert torch.equal(blocks.alpha, whole.alpha)


def test_signals_that_count_nothing_do_not_change_the_recurrence() -> None:
    graph = connected_graph()
    own = factorize(graph, signals(graph, 3, 0), 5).tridiagonal
    one = pooled(own, torch.tensor([0.0, 2.0, 0.0]))
    assert torch.allclose(one.alpha[:, 0], own.alpha[:, 1], atol=1e-10)
    assert torch.allclose(one.beta[:, 0], own.beta[:, 1], atol=1e-10)


def test_the_spread_is_zero_where_all_channels_are_alike() -> None:
    graph = connected_graph()
    x = signals(graph, 1, 0).repeat(1, 3) * torch.tensor([1.0, -2.0, 0.1])
    alike = shared(graph, x, 5).diagnostics(0.3)
    assert alike.spread < 1e-9
    assert torch.allclose(alike.channel_angle, torch.full((3,), 63.0).double(), atol=1e-6)
    assert shared(graph, signals(graph, 3, 0), 5).diagnostics().spread > 0.05


def test_reprs_say_what_they_are() -> None:
    fact = shared(connected_graph(), torch.eye(60)[:, :3], 4)
    assert repr(fact) == "SharedFactorization(hops=4, num_nodes=60, channels=3, dtype=torch.float32, sketch=None)"
    assert "of 45.0 degrees" in repr(fact.diagnostics())
    assert isinstance(fact.tridiagonal, Tridiagonal)


def test_what_is_refused() -> None:
    graph, x = connected_graph(), signals(connected_graph(), 3, 0)
    with pytest.raises(ValueError, match="channels must be one of"):
        factorize(graph, x, 3, channels="all")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match='a sketch is for channels="shared": leave it out, or pass channels="shared"'):
        factorize(graph, x, 3, sketch=4)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match='reorthogonalize is for channels="each": leave it out'):
        factorize(graph, x, 3, channels="shared", reorthogonalize=True)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="sketch must be a whole number of at least 1, not 0: leave it out for all"):
        shared(graph, x, 3, sketch=0)
    with pytest.raises(ValueError, match="hops must be a whole number"):
        shared(graph, x, 0)
    with pytest.raises(ValueError, match="is longer than the largest float32 number"):
        shared(graph, torch.full((60, 2), 3e38), 3)
    released = make_basis("uni", tau=0.5, homophily=0.5, formulation="released")
    for ask in (lambda one: one.basis(released), lambda one: one.evaluate(released, torch.zeros(1))):
        with pytest.raises(ValueError, match='the released formulation computes an angle for each channel.*"each"'):
            ask(shared(graph, x, 3))


@needs_data
def test_chameleon() -> None:
    graph, features, _ = real_graph("chameleon")
    exact, sketched = shared(graph, features, 10), shared(graph, features, 10, sketch=32)
    assert exact.diagnostics(0.3).angle_error < 1e-9
    assert sketched.diagnostics(0.3).angle_error < 0.2
    assert (exact.alpha - sketched.alpha).abs().max() < 0.1
