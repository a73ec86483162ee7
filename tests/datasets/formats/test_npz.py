from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_files import EDGES, FEATURES, LABELS, write_npz

from unifilter.datasets.formats import npz


def test_a_whole_file(tmp_path: Path) -> None:
    data = npz.read(write_npz(tmp_path / "mine.npz"), "rule")
    assert data.name == "mine"
    assert {tuple(sorted(edge)) for edge in EDGES.tolist()} == {
        tuple(edge) for edge in data.graph.edges()[0].T.tolist()
    }
    assert torch.equal(data.features, torch.from_numpy(FEATURES))
    assert data.labels.tolist() == LABELS.tolist()
    assert len(data.splits["rule"]) == 2
    assert data.split("rule", 1).test.tolist() == [4, 5]


def test_masks_weights_and_labels_are_up_to_the_writer(tmp_path: Path) -> None:
    nothing = {"train_masks": None, "val_masks": None, "test_masks": None}
    weights = np.array([1.0, 2, 3, 4, 5, 6, 7])
    labels = np.array([0, -1, 1, -1, 0, 1])
    data = npz.read(write_npz(tmp_path / "mine.npz", **nothing, edge_weights=weights, node_labels=labels))
    assert not data.splits
    assert data.graph.edges()[1].sum() == weights.sum()
    assert data.labels.tolist() == labels.tolist()


def test_isolated_last_nodes_are_kept(tmp_path: Path) -> None:
    data = npz.read(write_npz(tmp_path / "mine.npz", edges=EDGES[:1]))
    assert (data.num_nodes, data.graph.num_edges) == (6, 1)


def test_bags_of_words_become_sparse(tmp_path: Path) -> None:
    data = npz.read(write_npz(tmp_path / "mine.npz", node_features=np.eye(6, 50)))
    assert data.features.layout == torch.sparse_csr
    assert torch.equal(data.features.to_dense(), torch.eye(6, 50))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"edges": None},
            "has no array 'edges', it has node_features, node_labels, test_masks, train_masks, val_masks",
        ),
        ({"edges": EDGES.T}, "must have shape [num_edges, 2], one pair of nodes per row, not [2, 7]: store edge"),
        ({"edges": EDGES + 2}, "edge 3 (5 -> 6) points to a node that does not exist: nodes are 0 to 5"),
        ({"node_labels": LABELS[:5]}, "labels must have one class index per node, shape [6], not [5]"),
        (
            {"node_features": np.full((6, 2), np.inf)},
            "feature column 0 of node 0 is not finite",
        ),
        ({"val_masks": None}, "has train_masks but no val_masks: store all three, or none"),
        ({"val_masks": np.ones((2, 6), dtype=bool)}, "node 0 is"),
        ({"node_features": np.array([[{}]] * 6)}, "contains Python objects, which could run code and are not read"),
    ],
)
def test_mistakes_are_named(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write_npz(tmp_path / "mine.npz", **changes)
    with pytest.raises(ValueError, match=re.escape(message)):
        npz.read(path)


@pytest.mark.parametrize("keep", [0, 100, -100])
def test_a_truncated_file_is_named(keep: int, tmp_path: Path) -> None:
    path = write_npz(tmp_path / "mine.npz")
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match="mine.npz is not a complete .npz file .*: download or write it again"):
        npz.read(path)


def test_changed_bytes_are_noticed(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "mine.npz")
    content = bytearray(path.read_bytes())
    content[120:140] = bytes(20)
    path.write_bytes(content)
    with pytest.raises(ValueError, match="mine.npz is not a complete .npz file"):
        npz.read(path)
