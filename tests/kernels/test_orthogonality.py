from __future__ import annotations

import numpy as np
import pytest
import torch
from strategies import signals

from unifilter import Graph
from unifilter.kernels.compiled import orthogonality as compiled
from unifilter.kernels.compiled.lanczos import lanczos_compiled
from unifilter.kernels.lanczos import Parts, lanczos_torch
from unifilter.kernels.orthogonality import Orthogonality, take_out


@pytest.mark.parametrize("columns", [5, 16])
def test_vectors_are_taken_out_of_the_last_two_and_the_known_direction_is_computed(columns: int) -> None:
    random = np.random.default_rng(0)
    nodes, lanes, hop = 150, 16, 2
    # Three orthonormal vectors per column; the last one keeps some of the first. Blocks are divided by sqrt(degree).
    vectors = np.stack([np.linalg.qr(random.standard_normal((nodes, 5)))[0] for _ in range(columns)], axis=2)
    vectors = np.ascontiguousarray(vectors.transpose(1, 0, 2))
    clean = vectors[hop].copy()
    vectors[hop] += 0.01 * vectors[0]
    degree = random.integers(1, 9, nodes).astype(float)
    root = np.sqrt(degree)
    signal = random.standard_normal((nodes, columns)) + 30 * vectors[1]
    rest, current = np.zeros((2, nodes, lanes))
    rest[:, :columns] = signal / root[:, None]
    chosen = np.arange(lanes) != 1
    residual, scale = np.full(lanes, (signal**2).sum()), np.full(lanes, 7.0)
    direction = random.standard_normal((5, lanes))
    kept = [(vectors[k] * signal).sum(axis=0) for k in range(3)]
    known = sum(direction[k, :columns] * vectors[k] for k in range(3))
    before = vectors[hop].copy()
    found = compiled._take_out(
        vectors, 0, 3, hop, True, current, scale, rest, (root, 1 / root, degree), chosen, residual, direction, 0,
        columns, (0,) * lanes,
    )  # fmt: skip

    expected = signal - np.where(chosen[:columns], kept[0] * vectors[0] + kept[1] * vectors[1] + kept[2] * before, 0)
    np.testing.assert_allclose(rest[:, :columns] * root[:, None], expected, atol=1e-12)
    np.testing.assert_allclose(residual[:columns][chosen[:columns]], (expected**2).sum(axis=0)[chosen[:columns]])
    np.testing.assert_array_equal(vectors[hop], before)
    expected = np.where(chosen[:columns], clean, before)
    np.testing.assert_allclose((current * root[:, None])[:, :columns], expected, atol=1e-12)
    np.testing.assert_allclose(vectors[4], known, atol=1e-12)
    assert found == pytest.approx(np.abs(kept)[:, chosen[:columns]].max() / np.sqrt((signal**2).sum()))
    assert scale[0] == 1
    assert scale[1] == 7


def _random_graph(nodes: int = 3000) -> Graph:
    edges = torch.randint(nodes, (2, 7 * nodes), generator=torch.Generator().manual_seed(0))
    return Graph.from_edges(edges, num_nodes=nodes)


def _loss(parts: Parts) -> float:
    gram = torch.einsum("knc,lnc->ckl", parts[0], parts[0])
    return float((gram - torch.eye(gram.shape[1])).abs().max())


def test_the_known_direction_is_the_eigenvector_of_eigenvalue_one() -> None:
    graph = _random_graph()
    x = signals(graph, 3, 1, torch.float64)
    parts = lanczos_torch(graph.compressed_rows, x, 20, True, None)
    vectors, alpha, beta, _, _ = parts
    orthogonality = Orthogonality(vectors.clone(), alpha, beta)
    orthogonality._find_direction(18, torch.arange(3))
    eigenvector = graph.compressed_rows.root_degree / graph.compressed_rows.root_degree.norm()
    assert torch.allclose(orthogonality.vectors[-1].abs(), eigenvector[:, None].expand(-1, 3), atol=1e-5)
    direction = np.zeros((20, 3))
    for column in range(3):
        compiled._find_direction(direction, column, 18, alpha.numpy(), beta.numpy(), orthogonality.limit)
    np.testing.assert_allclose(direction[:19], orthogonality.direction[:19].numpy(), atol=1e-10)


def test_few_vectors_are_taken_out_of_signals_on_a_random_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, counts = _random_graph(), []

    def counting(earlier: torch.Tensor, block: torch.Tensor, channels: torch.Tensor) -> torch.Tensor:
        counts.append(len(earlier) * len(channels))
        return take_out(earlier, block, channels)

    monkeypatch.setattr("unifilter.kernels.orthogonality.take_out", counting)
    x = signals(graph, 8, 1, torch.float32)
    assert _loss(lanczos_torch(graph.compressed_rows, x, 40, None, None)) < 2e-4
    # Of the 820 vectors that re-orthogonalizing everywhere takes out of each signal;
    # without the known direction about 370.
    assert sum(counts) / 8 < 180


def test_both_paths_stay_orthogonal_where_only_the_known_direction_is_taken_out() -> None:
    graph = _random_graph()
    x = signals(graph, 33, 1, torch.float32)
    bare = lanczos_compiled(graph.compressed_rows, x, 40, False, None)
    assert _loss(bare) > 0.1
    for factor in (lanczos_compiled, lanczos_torch):
        assert _loss(factor(graph.compressed_rows, x, 40, None, None)) < 2e-4
