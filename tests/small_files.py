"""Small files in the published formats, written by the tests that read them."""

from __future__ import annotations

import gzip
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

# Six nodes in a ring with one chord; two classes.
EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 0], [0, 3]])
LABELS = np.array([0, 0, 1, 1, 0, 1])
FEATURES = np.arange(24, dtype=np.float32).reshape(6, 4)


def npz_arrays(**changes: Any) -> dict[str, Any]:
    """The arrays of a small .npz; ``None`` takes one out."""
    train, val, test = np.zeros((3, 2, 6), dtype=bool)
    train[:, :3] = val[:, 3] = test[:, 4:] = True
    arrays = {
        "node_features": FEATURES,
        "node_labels": LABELS,
        "edges": EDGES,
        "train_masks": train,
        "val_masks": val,
        "test_masks": test,
    } | changes
    return {key: array for key, array in arrays.items() if array is not None}


def write_npz(path: Path, **changes: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **npz_arrays(**changes))
    return path


def write_planetoid(folder: Path, name: str = "cora", **changes: Any) -> Path:
    """509 nodes: 0 to 504 known, the first two for training; 506, 508 and 505 tested in that order; no row for 507."""
    folder.mkdir(parents=True, exist_ok=True)
    one_hot = np.eye(3, dtype=np.int32)
    neighbors = {0: [1, 2], 1: [0], 2: [0, 3, 3], 3: [2, 3], 505: [506], 506: [505, 508], 508: [506]}
    objects = {
        "y": one_hot[[0, 1]],
        "allx": sp.csr_matrix(np.eye(505, 40, dtype=np.float32)),
        "ally": one_hot[np.arange(505) % 3],
        "tx": sp.csr_matrix(np.eye(3, 40, k=10, dtype=np.float32)),
        "ty": one_hot[[1, 2, 0]],
        "graph": defaultdict(list, neighbors),
    } | changes
    for suffix, value in objects.items():
        (folder / f"ind.{name}.{suffix}").write_bytes(pickle.dumps(value, protocol=4))
    (folder / f"ind.{name}.test.index").write_text("506\n508\n505\n")
    return folder


def write_facebook(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    adjacency = sp.csc_matrix((np.ones(7), EDGES.T), shape=(6, 6))
    info = np.zeros((6, 7), dtype=np.uint16)
    info[:, 0] = [1, 1, 2, 1, 2, 5]
    info[:, 1] = [0, 1, 2, 1, 2, 2]
    info[:, 6] = [0, 53827, 0, 10, 53827, 10]
    scipy.io.savemat(path, {"A": adjacency + adjacency.T, "local_info": info})
    return path


def write_genius(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {"edge_index": EDGES.T, "node_feat": FEATURES.astype(np.float64), "label": LABELS[:, None]}
    scipy.io.savemat(path, arrays)
    return path


def write_ogb(folder: Path, **changes: str) -> Path:
    tables = {
        "raw/edge": "0,1\n1,2\n2,3\n2,3\n",
        "raw/node-feat": "0.5,-1.5\n1,2\n3,4\n5,6\n7,8\n",
        "raw/node-label": "4\n0\n1\n1\n2\n",
        "raw/num-node-list": "5\n",
        "split/time/train": "3\n0\n",
        "split/time/valid": "1\n",
        "split/time/test": "2\n4\n",
    } | changes
    for name, text in tables.items():
        path = folder / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()))
    return folder
