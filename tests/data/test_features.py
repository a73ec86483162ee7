from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from unifilter.data import NodeDataset, pack_features
from unifilter.data.features import scale_rows
from unifilter.graph import Graph


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.coo_array, torch.tensor])
@pytest.mark.parametrize(("columns", "layout"), [(8, torch.strided), (9, torch.sparse_csr)])
def test_sparse_below_an_eighth(kind: type, columns: int, layout: torch.layout) -> None:
    identity = np.eye(columns, dtype=np.float64)
    packed = pack_features(kind(identity))
    assert packed.layout == layout
    assert packed.dtype == torch.float32
    assert torch.equal(packed.to_dense(), torch.eye(columns))


def test_duplicates_of_a_sparse_matrix_are_added_up() -> None:
    values, columns, rows = np.ones(2, dtype=np.float32), np.array([4, 4]), np.array([0, 0, 0, 0] + [2] * 7)
    twice = sp.csr_array((values, columns, rows), shape=(10, 10))
    assert pack_features(twice).values().tolist() == [2]
    assert values.tolist() == [1, 1], "the caller's matrix changed"


def test_dense_float32_is_not_copied() -> None:
    dense = np.ones((4, 3), dtype=np.float32)
    assert pack_features(dense).data_ptr() == dense.ctypes.data


def test_no_second_dense_copy_is_made() -> None:
    dense = np.zeros((2000, 1000))
    dense[:, 0] = 1
    import tracemalloc

    tracemalloc.start()
    pack_features(dense)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < dense.nbytes / 20


def test_what_float32_cannot_hold_is_refused() -> None:
    graph = Graph.from_edges(np.array([[0], [1]]))
    with pytest.raises(ValueError, match="feature column 0 of node 1 is not finite"):
        NodeDataset("large", graph, pack_features(np.array([[1.0], [1e300]])), torch.zeros(2, dtype=torch.int64))


def test_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="features must be numbers, not <U1: encode them as float32 first"):
        pack_features(np.array([["a", "b"]]))
    with pytest.raises(ValueError, match=r"features must have shape \[num_nodes, num_features\], not \[3\]"):
        pack_features(np.ones(3))


@pytest.mark.parametrize("scaling", ["row", "l2"])
def test_rows_are_scaled_block_by_block(scaling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unifilter.data.features._BLOCK_ROWS", 3)
    dense = torch.randn(7, 5, generator=torch.Generator().manual_seed(0)) * torch.tensor(
        [[1.0], [0], [1], [1], [0], [1], [9]]
    )
    total = torch.linalg.vector_norm(dense, ord=1 if scaling == "row" else 2, dim=1, keepdim=True)
    expected = torch.where(total > 0, dense / total, 0.0)
    assert torch.allclose(scale_rows(dense, scaling), expected)
    assert torch.allclose(scale_rows(dense.to_sparse_csr(), scaling).to_dense(), expected)
