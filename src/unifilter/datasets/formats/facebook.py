"""Reader for the Facebook100 collection (Traud et al. 2012), with LINKX's task: predict the gender of a user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from unifilter.data import NodeDataset, Split, pack_features
from unifilter.datasets.formats.matlab import load_mat
from unifilter.datasets.formats.unpickling import load_object_array
from unifilter.graph import Graph

# Columns of `local_info`: status, gender, major, second major, dormitory, year, high school; 0 is a missing entry.
_GENDER = 1
_COLUMNS = 7


def read(path: Path, split_file: Path | None = None) -> NodeDataset:
    """Read a friendship graph from its ``.mat`` file.

    Labels are the gender column minus one, so that -1 is a missing entry. Features are the other columns, one-hot
    encoded with one column per value, including the missing value.

    Args:
        path: The file, with ``A`` ``[n, n]``, sparse, and ``local_info`` ``[n, 7]``.
        split_file: LINKX's fixed 50/25/25 splits, ``fb100-Penn94-splits.npy``.
    """
    adjacency, info = load_mat(path, ("A", "local_info"))
    sparse = sp.issparse(adjacency)
    if not sparse or info.shape != (adjacency.shape[0], _COLUMNS):
        raise ValueError(
            f"{path} must contain a sparse A and a local_info with {_COLUMNS} columns and one row per node, "
            f"not {list(info.shape)}: download it again"
        )
    info = info.astype(np.int64)
    others = np.delete(info, _GENDER, axis=1)
    entries = sp.coo_array(adjacency)
    edges = np.stack([entries.row, entries.col])
    return NodeDataset(
        name=path.stem,
        graph=Graph.from_edges(edges, num_nodes=len(info)),
        features=pack_features(sp.hstack([_one_hot(column) for column in others.T], format="csr")),
        labels=torch.from_numpy(info[:, _GENDER] - 1),
        splits={} if split_file is None else {"linkx-50-25-25": _splits(split_file)},
        source=str(path),
    )


def _one_hot(column: np.ndarray) -> sp.csr_array:
    values, place = np.unique(column, return_inverse=True)
    ones = np.ones(len(column), dtype=np.float32)
    return sp.csr_array((ones, place, np.arange(len(column) + 1)), shape=(len(column), len(values)))


def _splits(path: Path) -> tuple[Split, ...]:
    splits = []
    for index, parts in enumerate(load_object_array(path)):
        if not isinstance(parts, dict) or not {"train", "valid", "test"} <= set(parts):
            raise ValueError(f"split {index} in {path} must have the parts train, valid and test: download it again")
        train, val, test = (_sorted(parts[part]) for part in ("train", "valid", "test"))
        splits.append(Split("linkx-50-25-25", index, train, val, test))
    return tuple(splits)


def _sorted(nodes: Any) -> np.ndarray:
    return np.sort(np.asarray(nodes).ravel()).astype(np.int64)
