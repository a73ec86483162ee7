"""Reader for the files of Planetoid (Yang et al. 2016): Cora, Citeseer and Pubmed as pickles of Python 2."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from unifilter.data import NodeDataset, Split, masks_to_splits, pack_features
from unifilter.datasets.formats.npz import open_npz
from unifilter.datasets.formats.unpickling import load_pickle
from unifilter.graph import Graph

# Files to read. `ind.NAME.x` is not needed: its rows are the first rows of `allx`.
SUFFIXES = ("y", "tx", "ty", "allx", "ally", "graph", "test.index")
# Planetoid's validation nodes are the 500 nodes after the training nodes.
_PUBLIC_VALIDATION = 500


def read(folder: Path, name: str, split_files: Sequence[Path] = ()) -> NodeDataset:
    """Read a citation graph from its ``ind.NAME.*`` files.

    Fifteen nodes of Citeseer have no row in the files. As in all published results, including the Geom-GCN masks, they
    get zero features and class 0. Without them the edge homophily would be 0.7377 instead of 0.7355.

    Args:
        folder: Folder of the files.
        name: ``"cora"``, ``"citeseer"`` or ``"pubmed"``, as in the file names.
        split_files: Geom-GCN's ``NAME_split_0.6_0.2_{i}.npz`` in the order of ``i``.
    """
    part = {suffix: folder / f"ind.{name}.{suffix}" for suffix in SUFFIXES}
    test = _test_nodes(part["test.index"])
    known_features, test_features = (_sparse(part[suffix]) for suffix in ("allx", "tx"))
    known_labels, test_labels, training = (_class_columns(part[suffix]) for suffix in ("ally", "ty", "y"))
    for suffix, rows, expected in (
        ("tx", test_features.shape[0], len(test)),
        ("ty", len(test_labels), len(test)),
        ("ally", len(known_labels), known_features.shape[0]),
    ):
        if rows != expected:
            raise ValueError(
                f"{part[suffix]} has {rows} rows, but the files beside it need {expected}: they do not match, download "
                "all of them again"
            )
    num_nodes = max(int(test.max()) + 1, known_features.shape[0])
    labels = np.zeros(num_nodes, dtype=np.int64)
    labels[: len(known_labels)] = known_labels
    labels[test] = test_labels
    return NodeDataset(
        name=name,
        graph=Graph.from_edges(_edges(part["graph"]), num_nodes=num_nodes),
        features=pack_features(_stacked(known_features, test_features, test, num_nodes)),
        labels=torch.from_numpy(labels),
        splits=_splits(len(training), test, split_files),
        source=str(folder),
    )


def geom_gcn_splits(files: Sequence[Path]) -> tuple[Split, ...]:
    """The 48/32/20 masks of Geom-GCN (Pei et al. 2020), one file per split. The file names say 0.6 and 0.2."""
    masks: dict[str, list[np.ndarray]] = {"train_mask": [], "val_mask": [], "test_mask": []}
    for path in files:
        with open_npz(path) as file:
            for key, columns in masks.items():
                if key not in file:
                    raise ValueError(f"{path} has no array {key!r}: download it again")
                columns.append(file[key].astype(bool))
    return masks_to_splits("geom-gcn-48-32-20", *(np.stack(columns, axis=1) for columns in masks.values()))


def _splits(num_training: int, test: np.ndarray, split_files: Sequence[Path]) -> dict[str, tuple[Split, ...]]:
    training, validation = np.split(np.arange(num_training + _PUBLIC_VALIDATION), [num_training])
    splits: dict[str, tuple[Split, ...]] = {"public": (Split("public", 0, training, validation, np.sort(test)),)}
    if split_files:
        splits["geom-gcn-48-32-20"] = geom_gcn_splits(split_files)
    return splits


def _test_nodes(path: Path) -> np.ndarray:
    try:
        nodes = np.array(path.read_text().split(), dtype=np.int64)
    except ValueError as error:
        raise ValueError(f"{path} must contain one node index per line ({error}): download it again") from error
    if not len(nodes):
        raise ValueError(f"{path} is empty: download it again")
    return nodes


def _sparse(path: Path) -> sp.csr_array:
    matrix = load_pickle(path)
    if not isinstance(matrix, sp.csr_matrix):
        raise ValueError(f"{path} contains {type(matrix).__name__} instead of a sparse matrix: download it again")
    rebuilt = sp.csr_array(matrix)
    try:
        # Compiled code trusts the indices, so indices from a file are checked first.
        rebuilt.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}): download it again") from error
    return rebuilt


def _class_columns(path: Path) -> np.ndarray:
    one_hot = load_pickle(path)
    if not isinstance(one_hot, np.ndarray) or one_hot.ndim != 2:
        raise ValueError(f"{path} contains {type(one_hot).__name__} instead of a matrix: download it again")
    return np.asarray(one_hot.argmax(axis=1))


def _edges(path: Path) -> np.ndarray:
    neighbors: dict[Any, Any] = load_pickle(path)
    if not isinstance(neighbors, dict):
        raise ValueError(f"{path} contains {type(neighbors).__name__} instead of lists of neighbors: download it again")
    pairs = [(node, other) for node, others in neighbors.items() for other in others]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2).T


def _stacked(known: sp.csr_array, tested: sp.csr_array, test: np.ndarray, num_nodes: int) -> sp.csr_array:
    """The known rows, followed by the test rows at their indices."""
    first, second = known.tocoo(), tested.tocoo()
    rows = np.concatenate([first.row, test[second.row]])
    columns, values = np.concatenate([first.col, second.col]), np.concatenate([first.data, second.data])
    return sp.csr_array((values, (rows, columns)), shape=(num_nodes, known.shape[1]))
