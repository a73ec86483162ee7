"""One graph in a numpy ``.npz`` file, in the form of the heterophilous-graphs collection of Platonov et al. (2023)."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from unifilter._internal.checks import as_labels
from unifilter.data import NodeDataset, Split, masks_to_splits, pack_features
from unifilter.graph import Graph

_MASKS = ("train_masks", "val_masks", "test_masks")


def read(path: Path, split_name: str = "given") -> NodeDataset:
    """A data set from one ``.npz`` file. Pickled objects in it are refused.

    Args:
        path: The file, with the arrays ``node_features`` ``[n, d]``, ``node_labels`` ``[n]`` (-1 where unknown) and
            ``edges`` ``[E, 2]``, each edge once or in both directions; optionally ``edge_weights`` ``[E]`` and
            ``train_masks``, ``val_masks``, ``test_masks``, bool, ``[splits, n]`` or ``[n]``.
        split_name: What the rule behind the masks is called.
    """
    with open_npz(path) as file:
        for key in ("node_features", "node_labels", "edges"):
            if key not in file:
                raise ValueError(f"{path} has no array {key!r}, it has {', '.join(sorted(file)) or 'none'}: add it")
        # Straight from the file to the form that is kept: the dense matrix is dropped before anything else is read.
        features = pack_features(file["node_features"])
        edges, labels = file["edges"], file["node_labels"]
        weights = file.get("edge_weights")
        if edges.ndim != 2 or edges.shape[1] != 2:
            raise ValueError(
                f"edges in {path} must have shape [num_edges, 2], one pair of nodes a row, not {list(edges.shape)}: "
                "store edge_index.T"
            )
        splits = _splits(file, path, split_name)
    return NodeDataset(
        name=path.stem,
        graph=Graph.from_edges(edges.T, num_nodes=features.shape[0], edge_weight=weights),
        features=features,
        labels=torch.from_numpy(as_labels(labels, features.shape[0])),
        splits=splits,
        source=str(path),
    )


@contextmanager
def open_npz(path: Path) -> Iterator[Mapping[str, np.ndarray]]:
    """The arrays of an ``.npz`` file, each read when it is asked for; damage and pickles become clear errors."""
    try:
        # Anything else than a zip file would make np.load talk about pickles, which is not what is wrong.
        if not zipfile.is_zipfile(path):
            raise zipfile.BadZipFile("not a zip file")
        with np.load(path, allow_pickle=False) as file:
            yield file
    except (zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is not a whole .npz file ({error}): download or write it again") from error
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise ValueError(
            f"{path} holds Python objects, which could run code and are not read: store plain number arrays"
        ) from error


def _splits(file: Mapping[str, np.ndarray], path: Path, name: str) -> dict[str, tuple[Split, ...]]:
    there = [key for key in _MASKS if key in file]
    if not there:
        return {}
    for key in _MASKS:
        if key not in there:
            raise ValueError(f"{path} has {there[0]} but no {key}: store all three, or none")
    # One row a split in the file, one column a split in PyG's form.
    return {name: masks_to_splits(name, *(file[key].T for key in _MASKS))}
