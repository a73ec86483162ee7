from __future__ import annotations

import logging
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from dense import propagation_matrix

from unifilter import Graph
from unifilter.factorization import block_eigensolver as subspace
from unifilter.factorization import eigenpairs
from unifilter.factorization.block_eigensolver import largest_pairs

TREE = nx.Graph((node, int(np.random.default_rng(node).integers(node))) for node in range(1, 400))

GRAPHS = {
    "a tree, whose eigenvalue 0 has many vectors": TREE,
    "a star: three eigenvalues": nx.star_graph(199),
    "a path: eigenvalues that almost meet": nx.path_graph(600),
    "separate edges: as often 1 as -1": nx.from_edgelist((2 * pair, 2 * pair + 1) for pair in range(100)),
    "a complete graph": nx.complete_graph(100),
    "a grid": nx.grid_2d_graph(20, 20),
}


def propagation(graph: nx.Graph) -> np.ndarray:
    return propagation_matrix(Graph.from_networkx(graph))


def largest(matrix: np.ndarray, count: int, **known: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = largest_pairs(sp.csr_array(matrix), count, **known)
    return values.numpy(), vectors.numpy()


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("count", [1, 10, 90])
@pytest.mark.parametrize("name", GRAPHS)
def test_they_are_the_largest_and_orthonormal(name: str, count: int, sign: int) -> None:
    matrix = sign * propagation(GRAPHS[name])
    values, vectors = largest(matrix, count)
    assert np.allclose(values, np.linalg.eigvalsh(matrix)[::-1][:count], rtol=0, atol=1e-12)
    assert np.abs(vectors.T @ vectors - np.eye(count)).max() < 1e-12
    assert np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max() < 1e-7


def test_a_cut_through_an_eigenvalue_of_many_vectors() -> None:
    matrix = propagation(TREE)
    whole = np.linalg.eigvalsh(matrix)[::-1]
    zeros = np.flatnonzero(np.abs(whole) < 1e-9)
    # More than the block reaches beyond the wanted, so that the last wanted and the last of the block coincide.
    assert len(zeros) > 60
    count = int(zeros[5])
    values, vectors = largest(matrix, count)
    assert np.allclose(values, whole[:count], rtol=0, atol=1e-12)
    assert np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max() < 1e-7


def test_known_vectors_are_not_found_again(tmp_path: Path) -> None:
    # 198 vectors of a star share the eigenvalue 0: without care both ends would take the same of them.
    pairs = eigenpairs(Graph.from_networkx(nx.star_graph(199)), (50, 50), cache_dir=tmp_path)
    vectors = pairs.vectors.double().numpy()
    assert np.abs(vectors.T @ vectors - np.eye(100)).max() < 1e-6


def test_the_rest_of_the_space_is_found_where_little_is_left() -> None:
    matrix = propagation(GRAPHS["a complete graph"])
    _, known = largest(matrix, 1)
    values, _ = largest(-matrix, 99, orthogonal_to=torch.from_numpy(known))
    assert np.allclose(values, 1 / 99)


def test_the_same_matrix_gives_the_same_vectors() -> None:
    matrix = propagation(GRAPHS["a grid"])
    assert np.array_equal(largest(matrix, 10)[1], largest(matrix, 10)[1])


def test_every_round_says_how_far_it_is(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="unifilter"):
        largest(propagation(GRAPHS["a grid"]), 10)
    accuracy = [float(message.rsplit(" ", 1)[1]) for message in caplog.messages]
    assert caplog.messages[0].startswith("10 eigenvectors, round 1: accurate to ")
    assert accuracy == sorted(accuracy, reverse=True)
    assert accuracy[0] > 0.1
    assert accuracy[-1] < 1e-7


def test_what_does_not_converge_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subspace, "_MAX_ROUNDS", 2)
    message = (
        "the 3 largest eigenvalues are accurate to .* after 2 rounds, and 1e-07 is asked: the next ones are too close "
        "to them; ask for more"
    )
    with pytest.raises(ValueError, match=message):
        largest(propagation(GRAPHS["a path: eigenvalues that almost meet"]), 3)
