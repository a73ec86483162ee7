"""The factorization: its identities, breakdown, accuracy and errors."""

from __future__ import annotations

import json
import os
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from dense import algorithm_1, orthonormal_vectors, propagation_matrix
from hypothesis import given
from hypothesis import strategies as st
from real_graphs import needs_data, real_graph
from strategies import connected_graph, graphs, signals

from unifilter import Factorization, Graph, Tridiagonal, factorize, signal_frequency
from unifilter.kernels.lanczos import lanczos_torch

# What truncating an exhausted space may cost, relative to the signal: the breakdown rule times a little.
TOLERANCE = {torch.float32: 5e-3, torch.float64: 1e-6}


def powers(graph: Graph, x: torch.Tensor, hops: int) -> torch.Tensor:
    terms = [x]
    for _ in range(hops):
        terms.append(graph.propagate(terms[-1]))
    return torch.stack(terms)


@given(graphs(), st.integers(1, 12), st.integers(0, 99), st.sampled_from([torch.float32, torch.float64]))
def test_identities_hold_on_any_graph(graph: Graph, hops: int, seed: int, dtype: torch.dtype) -> None:
    x = signals(graph, 4, seed, dtype)
    fact = factorize(graph, x, hops)
    tolerance = TOLERANCE[dtype]
    scale = x.norm(dim=0).max() + 1e-30
    assert torch.isfinite(fact.vectors).all()
    assert fact.diagnostics().orthogonality_loss.max() < tolerance
    # P^k x from the tridiagonal is P^k x from sparse products.
    homophily = fact.basis("homophily")
    assert (homophily - powers(graph, x, hops)).abs().max() < tolerance * scale
    # Frequencies from the tridiagonal are those of the vectors (a vector that has faded into rounding has none).
    for name, parameters in (("homophily", {}), ("uni", {"tau": 0.3, "homophily": 0.4}), ("orthonormal", {})):
        frequencies = fact.frequencies(name, **parameters)
        assert (frequencies >= 0).all()
        assert (frequencies <= 1).all()
        for hop, vectors in enumerate(fact.basis(name, **parameters)):
            loud = vectors.norm(dim=0) > 0.05 * scale
            measured = signal_frequency(graph, vectors)
            assert torch.allclose(frequencies[hop, loud], measured[loud], atol=20 * tolerance)


@given(graphs(), st.integers(0, 99), st.integers(1, 40))
def test_column_blocks_do_not_change_the_result(graph: Graph, seed: int, width: int) -> None:
    x = signals(graph, 37, seed, torch.float32)
    whole, blocked = factorize(graph, x, 6), factorize(graph, x, 6, columns_per_block=width)
    assert torch.equal(whole.vectors, blocked.vectors)
    assert torch.equal(whole.alpha, blocked.alpha)
    assert torch.equal(whole.beta, blocked.beta)
    assert torch.equal(whole.dimension, blocked.dimension)


def test_tridiagonal_relation() -> None:
    graph = connected_graph()
    fact = factorize(graph, signals(graph, 3, 0), 8)
    for channel in range(3):
        vectors = fact.vectors[:, :, channel].T
        product = torch.from_numpy(propagation_matrix(graph)) @ vectors
        tridiagonal = fact.tridiagonal.dense()[channel]
        assert torch.allclose(product[:, :8], (vectors @ tridiagonal)[:, :8], atol=1e-12)
        assert torch.allclose(vectors.T @ product, tridiagonal, atol=1e-12)


def test_agrees_with_dense_gram_schmidt_and_the_papers_algorithm() -> None:
    graph = connected_graph()
    x = signals(graph, 2, 5)
    fact = factorize(graph, x, 7)
    rotated = fact.basis("heterophily", homophily=0.23)
    for channel in range(2):
        vectors = orthonormal_vectors(propagation_matrix(graph), x[:, channel].numpy(), 7)
        np.testing.assert_allclose(fact.vectors[:, :, channel], vectors, atol=1e-10)
        np.testing.assert_allclose(rotated[:, :, channel], algorithm_1(vectors, 0.23), atol=1e-10)


def _oracle() -> Path | None:
    folder = os.environ.get("UNIFILTER_DATA")
    path = Path(folder).parent / "vectors_karate.json" if folder else None
    return path if path is not None and path.exists() else None


@pytest.mark.skipif(_oracle() is None, reason="the independently made values are not beside UNIFILTER_DATA")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_independent_values_on_karate(dtype: torch.dtype) -> None:
    path = _oracle()
    assert path is not None
    oracle = json.loads(path.read_text())
    graph = Graph.from_networkx(nx.karate_club_graph(), weight=None)
    x = torch.tensor(oracle["features"], dtype=dtype)
    exact = 2e-6 if dtype == torch.float32 else 1e-9
    for case in oracle["cases"]:
        fact = factorize(graph, x, case["hops"])
        mix = {"tau": case["tau"], "homophily": case["homophily"]}
        found = {
            "alpha": fact.alpha,
            "beta": fact.beta,
            "frequencies": fact.frequencies("uni", **mix),
            "paper": fact.basis("uni", **mix),
        }
        for name, value in found.items():
            np.testing.assert_allclose(value, case[name], atol=exact, err_msg=name)
        # These were printed in single precision.
        released = fact.basis("uni", formulation="released", **mix)
        np.testing.assert_allclose(released, case["released"], atol=2e-6)


class TestBreakdown:
    """A signal that spans fewer than hops + 1 dimensions gives finite, documented output."""

    def test_signal_on_a_small_component(self) -> None:
        # A path of three nodes beside a ring of four: both have three distinct eigenvalues.
        graph = Graph.from_edges(np.array([[0, 1, 3, 4, 5, 6], [1, 2, 4, 5, 6, 3]]))
        x = torch.zeros(7, 2)
        x[0, 0] = 2.0
        x[3:, 1] = torch.tensor([1.0, 0.3, -2.0, 0.1])
        fact = factorize(graph, x, 6)
        assert fact.dimension.tolist() == [3, 3]
        assert torch.equal(fact.vectors[3:, :, 0], torch.zeros(4, 7))
        assert torch.equal(fact.beta[2:, 0], torch.zeros(4))
        assert torch.allclose(fact.basis("homophily"), powers(graph, x, 6), atol=1e-6)
        rotated = fact.basis("heterophily", homophily=0.5)
        inner = rotated[:3, :, 0] @ rotated[:3, :, 0].T
        assert torch.allclose(inner, torch.full((3, 3), 0.5**0.5) + (1 - 0.5**0.5) * torch.eye(3), atol=1e-6)
        assert (rotated[3:, :, 0].norm(dim=1) < 1).all()
        assert torch.isfinite(rotated).all()
        assert fact.diagnostics().broken_down.tolist() == [0, 1]

    def test_isolated_node(self) -> None:
        graph = Graph.from_edges(np.array([[0], [1]]), num_nodes=3)
        fact = factorize(graph, torch.tensor([[0.0], [0.0], [5.0]]), 3)
        assert fact.dimension.tolist() == [1]
        assert fact.norm.tolist() == [5.0]
        assert torch.equal(fact.basis("homophily")[:, 2, 0], torch.tensor([5.0, 0.0, 0.0, 0.0]))
        # L is 1 on an isolated node, so the signal sits at lambda = 1; vectors that are zero have frequency 0.
        assert fact.frequencies("homophily").flatten().tolist() == [0.5, 0.0, 0.0, 0.0]

    def test_zero_column(self) -> None:
        graph = connected_graph()
        x = signals(graph, 3, 0)
        x[:, 1] = 0
        fact = factorize(graph, x, 4)
        assert fact.dimension.tolist() == [5, 0, 5]
        for name, mix in (("uni", {"tau": 0.5, "homophily": 0.5}), ("heterophily", {"homophily": 0.2})):
            assert torch.equal(fact.basis(name, **mix)[:, :, 1], torch.zeros(5, graph.num_nodes, dtype=torch.float64))
            assert torch.equal(fact.frequencies(name, **mix)[:, 1], torch.zeros(5, dtype=torch.float64))
        assert fact.diagnostics().zero_columns.tolist() == [1]
        assert torch.isfinite(fact.basis("uni", tau=0.5, homophily=0.5, formulation="released")).all()

    def test_more_hops_than_nodes(self) -> None:
        graph = Graph.from_edges(np.array([[0, 1, 2], [1, 2, 0]]))
        x = torch.tensor([[1.0], [0.5], [-0.2]], dtype=torch.float64)
        fact = factorize(graph, x, 20)
        # A triangle has two distinct eigenvalues: no signal on it spans more than two dimensions.
        assert fact.dimension.tolist() == [2]
        assert torch.allclose(fact.basis("homophily"), powers(graph, x, 20), atol=1e-12)

    def test_eigenvector(self) -> None:
        graph = connected_graph()
        constant = graph.degree.sqrt()[:, None]
        fact = factorize(graph, constant, 5)
        assert fact.dimension.tolist() == [1]
        assert fact.alpha[0].item() == pytest.approx(1.0)

    def test_single_node(self) -> None:
        fact = factorize(Graph.from_edges(np.zeros((2, 0), dtype=int), num_nodes=1), np.array([[3.0]]), 2)
        assert fact.basis("homophily").flatten().tolist() == [3.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("nodes", [60, 400])
def test_hundred_hops_stay_orthogonal(dtype: torch.dtype, nodes: int) -> None:
    graph = connected_graph(nodes)
    fact = factorize(graph, signals(graph, 40, 1, dtype), 100)
    assert fact.diagnostics().orthogonality_loss.max() < 1e-3
    # Without it they do not: the estimate has something to do.
    assert (
        factorize(graph, signals(graph, 40, 1, dtype), 100, reorthogonalize=False)
        .diagnostics()
        .orthogonality_loss.max()
        > 1e-3
    )
    always = factorize(graph, signals(graph, 40, 1, dtype), 100, reorthogonalize=True)
    assert always.diagnostics().orthogonality_loss.max() < 20 * torch.finfo(dtype).eps


@needs_data
@pytest.mark.parametrize("name", ["cora", "citeseer", "chameleon", "actor"])
def test_real_graphs(name: str) -> None:
    graph, features, _ = real_graph(name)
    fact = factorize(graph, features, 10)
    diagnostics = fact.diagnostics()
    assert diagnostics.orthogonality_loss.max() < 2e-4
    # Theorem 4.3 on every column that spans the space, and on as many vectors as exist where one does not.
    assert diagnostics.angle_error.max() < 2e-3
    expected = {"cora": (2, 1), "citeseer": (80, 0), "chameleon": (0, 0), "actor": (0, 0)}[name]
    assert (len(diagnostics.broken_down), len(diagnostics.zero_columns)) == expected
    x = torch.from_numpy(features)
    direct = x
    for hop, vectors in enumerate(fact.basis("homophily")):
        error = (vectors - direct).norm(dim=0) / x.norm(dim=0).clamp(min=1e-30)
        assert error.max() < 1e-5, f"hop {hop}"
        direct = graph.propagate(direct)


@needs_data
def test_rounding_is_not_counted_as_a_dimension() -> None:
    graph, features, _ = real_graph("citeseer")
    # Signals on a few nodes of small components: what is left of them at last, single precision cannot tell from zero.
    x = torch.from_numpy(features[:, [214, 269, 315, 382]])
    true_dimension = factorize(graph, x.double(), 20, reorthogonalize=True).dimension
    for reorthogonalize in (None, True):
        found = factorize(graph, x, 20, reorthogonalize=reorthogonalize)
        assert torch.equal(found.dimension, true_dimension)
        assert found.diagnostics().orthogonality_loss.max() < 1e-3


@needs_data
def test_hundred_hops_on_cora() -> None:
    graph, features, _ = real_graph("cora")
    diagnostics = factorize(graph, features[:, :96], 100).diagnostics()
    assert diagnostics.orthogonality_loss.max() < 1e-3


@pytest.mark.parametrize(
    "layout", ["coo", "csr", "csc", "scipy", "numpy", "uncoalesced", "scipy-duplicates", "column-major"]
)
def test_every_kind_of_features(layout: str) -> None:
    graph = connected_graph()
    x = signals(graph, 70, 3, torch.float32)
    x[torch.rand(x.shape, generator=torch.Generator().manual_seed(0)) < 0.7] = 0
    expected = factorize(graph, x, 4)
    entries = x.to_sparse_coo()
    given: object = {
        "coo": entries,
        "csr": x.to_sparse_csr(),
        "csc": x.to_sparse_csc(),
        "scipy": sp.csr_matrix(x.numpy()),
        "numpy": x.numpy(),
        "uncoalesced": torch.sparse_coo_tensor(
            torch.cat([entries.indices(), entries.indices()], dim=1), torch.cat([entries.values() / 2] * 2), x.shape
        ),
        "scipy-duplicates": _every_entry_in_halves(sp.csc_array(x.numpy())),
        "column-major": np.asfortranarray(x.numpy()),
    }[layout]
    found = factorize(graph, given, 4)
    assert torch.allclose(found.vectors, expected.vectors, atol=1e-6)
    assert torch.allclose(found.norm, expected.norm)


def _every_entry_in_halves(x: sp.csc_array) -> sp.csc_array:
    return sp.csc_array((np.repeat(x.data / 2, 2), np.repeat(x.indices, 2), 2 * x.indptr), shape=x.shape)


def test_whole_numbers_and_single_signals() -> None:
    graph = connected_graph()
    counts = torch.arange(60) % 7
    fact = factorize(graph, counts, 2)
    assert fact.vectors.shape == (3, 60, 1)
    assert fact.vectors.dtype == torch.float32
    assert fact.norm.item() == pytest.approx(counts.double().norm().item())


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_tiny_and_huge_signals(scale: float) -> None:
    graph = connected_graph()
    x = signals(graph, 3, 0, torch.float32)
    assert torch.allclose(factorize(graph, x * scale, 5).vectors, factorize(graph, x, 5).vectors, atol=1e-5)


def test_the_input_is_not_touched() -> None:
    graph = connected_graph()
    x = signals(graph, 3, 0)
    before = x.clone()
    factorize(graph, x, 4).basis("uni", tau=0.2, homophily=0.8)
    assert torch.equal(x, before)


@pytest.mark.parametrize("hops", [0, -1, 2.5, float("nan"), True])
def test_hops_must_be_a_whole_number(hops: float) -> None:
    with pytest.raises(ValueError, match="hops must be a whole number of at least 1.*pass hops=10"):
        factorize(connected_graph(), torch.ones(60, 1), hops)  # type: ignore[arg-type]


def test_columns_per_block_must_be_positive() -> None:
    with pytest.raises(ValueError, match="columns_per_block must be a whole number of at least 1, not 0: leave it out"):
        factorize(connected_graph(), torch.ones(60, 1), 2, columns_per_block=0)


def test_reprs_say_what_they_are() -> None:
    fact = factorize(connected_graph(), torch.eye(60)[:, :3], 4)
    assert repr(fact) == "Factorization(hops=4, num_nodes=60, channels=3, dtype=torch.float32, broken_down=0)"
    assert repr(fact.tridiagonal) == "Tridiagonal(hops=4, channels=3, dtype=torch.float32)"
    assert "zero_columns=0, channels=3" in repr(fact.diagnostics())


# Fewer hops


@given(
    graphs(),
    st.integers(1, 12),
    st.integers(1, 12),
    st.integers(0, 99),
    st.sampled_from([torch.float32, torch.float64]),
    st.sampled_from([None, False, True]),
)
def test_truncated_it_is_what_fewer_hops_give_bit_for_bit(
    graph: Graph, one: int, other: int, seed: int, dtype: torch.dtype, reorthogonalize: bool | None
) -> None:
    hops, longer = sorted((one, other))
    x = signals(graph, 5, seed, dtype)
    direct = factorize(graph, x, hops, reorthogonalize=reorthogonalize)
    truncated = factorize(graph, x, longer, reorthogonalize=reorthogonalize).truncate(hops)
    assert repr(truncated) == repr(direct)
    assert torch.equal(truncated.vectors, direct.vectors)
    for part in ("alpha", "beta", "norm", "dimension"):
        assert torch.equal(getattr(truncated, part), getattr(direct, part)), part
    assert torch.equal(truncated.basis("uni", tau=0.3, homophily=0.6), direct.basis("uni", tau=0.3, homophily=0.6))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_truncated_in_plain_torch_it_is_what_fewer_hops_give(dtype: torch.dtype) -> None:
    graph = connected_graph(12)  # so few nodes that channels are exhausted on the way
    rows, x = graph.compressed_rows, signals(graph, 5, 0, dtype)
    whole = lanczos_torch(rows, x, 15, None, None)
    long = Factorization(whole[0], Tridiagonal(*whole[1:]))
    assert long.dimension.max() < 15
    for hops in (1, 4, 11, 14):
        vectors, *small = lanczos_torch(rows, x, hops, None, None)
        assert torch.equal(long.truncate(hops).vectors, vectors)
        for part, expected in zip(("alpha", "beta", "norm", "dimension"), small, strict=True):
            assert torch.equal(getattr(long.truncate(hops), part), expected), part


def test_truncating_copies_nothing_and_cannot_add_hops() -> None:
    graph = connected_graph()
    fact = factorize(graph, signals(graph, 3, 0), hops=5)
    assert fact.truncate(5) is fact
    assert fact.truncate(2).vectors.data_ptr() == fact.vectors.data_ptr()
    for hops in (0, 6):
        with pytest.raises(ValueError, match=f"hops must be from 1 to 5, the hops of this factorization, not {hops}"):
            fact.truncate(hops)
