from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import graphs
from strategies import signals as signals_on
from torch import Tensor

from unifilter.graph import Graph, dirichlet_energy, signal_frequency, signals

CYCLE = Graph.from_edges(np.array([[0, 1, 2, 3], [1, 2, 3, 0]]))


def random_graph(seed: int, num_nodes: int = 25, weighted: bool = True) -> Graph:
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(num_nodes, (2, 60), generator=generator)
    weight = torch.rand(60, generator=generator, dtype=torch.float64) if weighted else None
    return Graph.from_edges(edges, num_nodes=num_nodes, edge_weight=weight)


def random_signals(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + 1), dtype=dtype)


def dense_laplacian(graph: Graph) -> Tensor:
    adjacency = graph.adjacency(torch.float64).to_dense()
    degree = adjacency.sum(dim=1)
    scale = torch.where(degree > 0, degree, 1.0).rsqrt()
    return torch.eye(graph.num_nodes, dtype=torch.float64) - scale[:, None] * adjacency * scale


def dense_energy(graph: Graph, x: Tensor) -> Tensor:
    adjacency = graph.adjacency(torch.float64).to_dense()
    return (adjacency * torch.cdist(x, x) ** 2).sum() / graph.num_nodes


@given(graphs(), st.integers(0, 99))
def test_proposition_2_3_frequencies_lie_between_0_and_1(graph: Graph, seed: int) -> None:
    x = signals_on(graph, 4, seed)
    # Unclipped, so that the bound is the graph's and not the function's.
    energy = (x * x).sum(dim=0)
    frequency = (x * (x - graph.propagate(x))).sum(dim=0) / (2 * torch.where(energy > 0, energy, 1.0))
    assert frequency.min() > -1e-12
    assert frequency.max() < 1 + 1e-12
    torch.testing.assert_close(signal_frequency(graph, x), frequency, rtol=0, atol=1e-12)


def test_frequency_by_hand() -> None:
    x = torch.tensor([[1.0, 1.0, 1.0, 0.0], [1.0, 0.0, -1.0, 0.0], [1.0, -1.0, 1.0, 0.0], [1.0, 0.0, -1.0, 0.0]])
    assert signal_frequency(CYCLE, x).tolist() == pytest.approx([0.0, 0.5, 1.0, 0.0], abs=1e-7)


def test_frequency_of_a_signal_on_an_isolated_node_is_one_half() -> None:
    graph = Graph.from_edges(np.array([[0], [1]]), num_nodes=3)
    assert signal_frequency(graph, torch.tensor([0.0, 0.0, 2.0])).item() == 0.5


@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([torch.float32, torch.float64]))
def test_frequency_is_the_definition(seed: int, weighted: bool, dtype: torch.dtype) -> None:
    graph = random_graph(seed, weighted=weighted)
    x = random_signals(seed, 25, 6, dtype=dtype)
    wide = x.double()
    expected = (wide * (dense_laplacian(graph) @ wide)).sum(dim=0) / (2 * (wide * wide).sum(dim=0))
    frequency = signal_frequency(graph, x)
    assert frequency.dtype == dtype
    torch.testing.assert_close(frequency.double(), expected, rtol=0, atol=1e-6 if dtype == torch.float32 else 1e-12)


@given(st.integers(0, 2**32 - 1))
def test_frequency_of_an_eigenvector_is_half_its_eigenvalue(seed: int) -> None:
    graph = random_graph(seed)
    eigenvalues, eigenvectors = torch.linalg.eigh(dense_laplacian(graph))
    frequency = signal_frequency(graph, eigenvectors)
    torch.testing.assert_close(frequency, eigenvalues / 2, rtol=0, atol=1e-12)
    assert frequency.min() >= 0
    assert frequency.max() <= 1


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-300, 1e-160, -3.0, 1e160, 1e300]))
def test_frequency_does_not_depend_on_the_scale(seed: int, scale: float) -> None:
    graph, x = random_graph(seed), random_signals(seed, 25)
    torch.testing.assert_close(signal_frequency(graph, scale * x), signal_frequency(graph, x), rtol=0, atol=1e-12)


def test_frequency_takes_every_kind_of_features() -> None:
    graph = random_graph(0)
    dense = random_signals(0, 25, 7, dtype=torch.float32).relu()
    dense[:, 3] = 0
    expected = signal_frequency(graph, dense)
    assert expected[3] == 0
    for same in (
        dense.numpy(),
        dense.to_sparse(),
        dense.to_sparse_csr(),
        dense.to_sparse_csc(),
        sp.csr_array(dense.numpy()),
    ):
        torch.testing.assert_close(signal_frequency(graph, same), expected, rtol=0, atol=1e-6)
    one = signal_frequency(graph, dense[:, 1])
    assert one.shape == ()
    torch.testing.assert_close(one, expected[1])
    assert signal_frequency(graph, dense[:, :1]).shape == (1,)
    assert signal_frequency(graph, np.arange(25)).dtype == torch.float32


def test_energy_by_hand() -> None:
    path = Graph.from_edges(np.array([[0, 1], [1, 2]]), edge_weight=np.array([1.0, 0.5]))
    assert dirichlet_energy(path, torch.tensor([0.0, 1.0, 3.0])).item() == pytest.approx(2 * (1 + 0.5 * 4) / 3)
    assert dirichlet_energy(path, np.array([[0.0, 1.0], [1.0, 1.0], [3.0, 0.0]])).item() == pytest.approx(
        2 * (1 + 0.5 * (4 + 1)) / 3
    )


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_energy_is_the_definition(seed: int, weighted: bool) -> None:
    graph, x = random_graph(seed, weighted=weighted), random_signals(seed, 25, 4)
    energy = dirichlet_energy(graph, x)
    assert energy.shape == ()
    assert energy.dtype == torch.float64
    torch.testing.assert_close(energy, dense_energy(graph, x))
    torch.testing.assert_close(dirichlet_energy(graph, x.numpy()), energy)
    torch.testing.assert_close(dirichlet_energy(graph, x.to_sparse()), energy)
    torch.testing.assert_close(dirichlet_energy(graph, sp.coo_array(x.numpy())), energy)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_energy_of_a_constant_is_exactly_zero(dtype: torch.dtype) -> None:
    assert dirichlet_energy(random_graph(1), torch.full((25, 3), 1 / 3, dtype=dtype)).item() == 0


def test_energy_of_a_basis_is_one_number_per_vector() -> None:
    graph, basis = random_graph(2), random_signals(2, 5, 25, 3, dtype=torch.float32)
    energies = dirichlet_energy(graph, basis)
    assert energies.dtype == torch.float64
    torch.testing.assert_close(energies, torch.stack([dirichlet_energy(graph, level) for level in basis]))
    torch.testing.assert_close(dirichlet_energy(graph, basis.numpy()), energies)


def test_a_graph_without_edges() -> None:
    graph = Graph.from_edges(np.zeros((2, 0), dtype=np.int64), num_nodes=4)
    x = torch.ones(4, 2)
    assert dirichlet_energy(graph, x).item() == 0
    assert signal_frequency(graph, x).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_of_columns_change_nothing(monkeypatch: pytest.MonkeyPatch, sparse: bool) -> None:
    graph, x = random_graph(3), random_signals(3, 25, 11).relu()
    features = x.to_sparse_csc() if sparse else x
    frequency, energy = signal_frequency(graph, features), dirichlet_energy(graph, features)
    for block in (1, 50, 130):  # one column at a time, or a few
        monkeypatch.setattr(signals, "_BLOCK", block)
        torch.testing.assert_close(signal_frequency(graph, features), frequency)
        torch.testing.assert_close(dirichlet_energy(graph, features), energy)


@pytest.mark.parametrize("measure", [signal_frequency, dirichlet_energy])
def test_bad_signals_are_named(measure: Callable[[Graph, Any], Tensor]) -> None:
    with pytest.raises(ValueError, match="features have 3 rows but the graph has 4 nodes: pass one row per node"):
        measure(CYCLE, torch.ones(3, 2))
    with pytest.raises(ValueError, match="feature column 1 of node 2 is not finite"):
        measure(CYCLE, torch.tensor([[1.0, 1.0], [1.0, 1.0], [1.0, float("nan")], [1.0, 1.0]]))
    with pytest.raises(ValueError, match=r"features must have shape \[num_nodes, channels\]"):
        measure(CYCLE, torch.ones(2, 3, 4, 1))
