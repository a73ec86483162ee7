"""Reader for a graph in an ``.npz`` file, the format of the heterophilous-graphs collection (Platonov et al. 2023)."""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from unifilter.data import NodeDataset, Split, masks_to_splits, pack_features
from unifilter.datasets.formats.archives import open_archive
from unifilter.graph import Direction, Graph, SelfLoops

_MASKS = ("train_masks", "val_masks", "test_masks")


def read(
    path: Path,
    split_name: str = "given",
    *,
    direction: Direction = "undirected",
    self_loops: SelfLoops = "remove",
) -> NodeDataset:
    """Read a data set from one ``.npz`` file. Files with pickled objects are rejected.

    Args:
        path: The file, with the arrays ``node_features`` ``[n, d]``, ``node_labels`` ``[n]`` (-1 if unknown) and
            ``edges`` ``[E, 2]``, each edge once or in both directions; optionally ``edge_weights`` ``[E]`` and
            ``train_masks``, ``val_masks``, ``test_masks``, boolean, ``[splits, n]`` or ``[n]``.
        split_name: Name of the rule behind the masks.
        direction: Whether edges are directed, as in :meth:`unifilter.Graph.from_edges`.
        self_loops: Treatment of self-loops, as in :meth:`unifilter.Graph.from_edges`.
    """
    with open_npz(path) as file:
        for key in ("node_features", "node_labels", "edges"):
            if key not in file:
                raise ValueError(f"{path} has no array {key!r}, it has {', '.join(sorted(file)) or 'none'}: add it")
        # Converted at once, so that the dense matrix is released before anything else is read.
        features = pack_features(file["node_features"])
        edges, labels = file["edges"], file["node_labels"]
        weights = file.get("edge_weights")
        if edges.ndim != 2 or edges.shape[1] != 2:
            raise ValueError(
                f"edges in {path} must have shape [num_edges, 2], one pair of nodes per row, not {list(edges.shape)}: "
                "store edge_index.T"
            )
        splits = _splits(file, path, split_name)
    return NodeDataset(
        name=path.stem,
        graph=Graph.from_edges(
            edges.T, num_nodes=features.shape[0], edge_weight=weights, direction=direction, self_loops=self_loops
        ),
        features=features,
        labels=labels,  # type: ignore[arg-type]  # numbers of any type, checked by NodeDataset
        splits=splits,
        source=str(path),
    )


@contextmanager
def open_npz(path: Path) -> Iterator[Mapping[str, np.ndarray]]:
    """The arrays of an ``.npz`` file, each read on access. Damaged files and pickles raise a ValueError.

    Memory for an array is allocated only after its header agrees with the size of its member, and only if the members
    are not far larger than the file allows.
    """
    try:
        with open_archive(path, compressed=True) as archive:
            yield _Arrays(archive, path)
    except (zipfile.BadZipFile, NotImplementedError, OSError, EOFError, zlib.error, struct.error) as error:
        raise ValueError(f"{path} is not a complete .npz file ({error}): download or write it again") from error


class _Arrays(Mapping[str, np.ndarray]):
    def __init__(self, archive: zipfile.ZipFile, path: Path) -> None:
        self._archive, self._path = archive, path
        self._members = {
            member.filename.removesuffix(".npy"): member
            for member in archive.infolist()
            if member.filename.endswith(".npy")
        }

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __getitem__(self, key: str) -> np.ndarray:
        member = self._members[key]
        self._check_header(key, member)
        with self._archive.open(member) as file:
            return np.asarray(np.lib.format.read_array(file, allow_pickle=False))

    def _check_header(self, key: str, member: zipfile.ZipInfo) -> None:
        with self._archive.open(member) as file:
            try:
                header = np.lib.format
                version = header.read_magic(file)
                shape, _, dtype = (header.read_array_header_1_0 if version == (1, 0) else header.read_array_header_2_0)(
                    file
                )
            except Exception as error:  # numpy evaluates a header as a Python literal, which can raise any error
                raise zipfile.BadZipFile(f"{key} has no readable header: {type(error).__name__}") from error
            stored = member.file_size - file.tell()
        if dtype.hasobject:
            raise ValueError(
                f"{self._path} contains Python objects, which could run code and are not read: store numeric arrays"
            )
        if dtype.kind not in "biufcSU" or dtype.itemsize == 0:
            raise ValueError(f"{self._path}: {key} has type {dtype}: store numeric arrays")
        if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != stored:
            raise ValueError(
                f"{self._path}: {key} should have shape {list(shape)} of {dtype}, but {stored:,} bytes are stored for "
                "it: download or write it again"
            )


def _splits(file: Mapping[str, np.ndarray], path: Path, name: str) -> dict[str, tuple[Split, ...]]:
    there = [key for key in _MASKS if key in file]
    if not there:
        return {}
    for key in _MASKS:
        if key not in there:
            raise ValueError(f"{path} has {there[0]} but no {key}: store all three, or none")
    # One row per split in the file, one column per split in PyG's form.
    return {name: masks_to_splits(name, *(file[key].T for key in _MASKS))}
