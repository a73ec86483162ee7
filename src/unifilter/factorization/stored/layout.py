"""The files of a store: a manifest with its key, and two files per block of columns."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from unifilter._internal.array_files import check_array, read_manifest, write_manifest
from unifilter._internal.version import __version__

MANIFEST = "store.json"
NODES = "nodes.npy"
# Increase this when the file format changes.
FORMAT = 1
# Descriptions of differing entries of the key, for error messages.
_NAMES = {
    "version": "another version of this package",
    "graph": "another graph",
    "features": "other features",
    "num_nodes": "another graph",
    "channels": "other features",
    "hops": "another number of hops",
    "dtype": "features of another precision",
    "storage": "another kind of storage",
    "reorthogonalize": "another reorthogonalize",
    "kept": "other nodes",
}


@dataclass(frozen=True)
class StoreKey:
    """The key of a store: its input and the settings that change its content.

    Attributes:
        version: Version of this package, because versions may round differently.
        graph, features: Digests of the graph and of the features.
        num_nodes, channels, hops: Sizes.
        dtype: Precision of the features.
        storage: Precision of the stored vectors.
        reorthogonalize: As in :func:`unifilter.factorize`.
        kept: Digest of the nodes whose rows are kept; empty if whole vectors are kept.
    """

    graph: str
    features: str
    num_nodes: int
    channels: int
    hops: int
    dtype: str
    storage: str
    reorthogonalize: bool | None
    kept: str
    version: str = __version__

    @property
    def torch_type(self) -> torch.dtype:
        return torch.float32 if self.dtype == "float32" else torch.float64


def nodes_digest(nodes: np.ndarray | None) -> str:
    """A digest of the nodes whose rows are kept; empty for all."""
    return "" if nodes is None else hashlib.sha256(nodes.astype("<i8").tobytes()).hexdigest()


def vectors_path(folder: Path, index: int) -> Path:
    """Path of the vectors of a block."""
    return folder / f"block-{index:05d}.npy"


def block_path(folder: Path, index: int) -> Path:
    """Path of the file that marks a block as complete."""
    return folder / f"block-{index:05d}.json"


def write_store_manifest(folder: Path, key: StoreKey, width: int, nodes_record: dict[str, Any] | None) -> None:
    """Write the manifest of a new store."""
    content = {"format": FORMAT, "key": asdict(key), "width": width, "nodes": nodes_record}
    write_manifest(folder / MANIFEST, content)


def read_store_manifest(folder: Path) -> tuple[StoreKey, int, dict[str, Any] | None]:
    """The key of a store, the width of its blocks, and the record of its file of nodes."""
    if not (folder / MANIFEST).is_file():
        raise FileNotFoundError(f"{folder} is not a store (it has no {MANIFEST}): check the path")
    content = read_manifest(folder / MANIFEST)
    if content.get("format") != FORMAT:
        raise ValueError(
            f"{folder} has the format {content.get('format')}, and this version reads {FORMAT}: delete the folder and "
            "factorize again"
        )
    return StoreKey(**content["key"]), content["width"], content["nodes"]


def check_same(folder: Path, found: StoreKey, wanted: StoreKey) -> None:
    """Raise an error if a store has a different key."""
    for name, other in _NAMES.items():
        if getattr(found, name) != getattr(wanted, name):
            raise ValueError(
                f"{folder} is a store of {other} ({name} {_short(getattr(found, name))}, not "
                f"{_short(getattr(wanted, name))}): choose another folder, or delete it"
            )


def is_complete(folder: Path) -> bool:
    """Whether every block of a store is complete."""
    if not (folder / MANIFEST).is_file():
        return False
    key, width, _ = read_store_manifest(folder)
    return all(block_path(folder, index).exists() for index in range(len(column_blocks(key.channels, width))))


def _short(value: Any) -> str:
    text = str(value)
    return text[:12] + "..." if len(text) > 20 else text


def column_blocks(channels: int, width: int) -> list[tuple[int, int]]:
    """First and last column (exclusive) of each block."""
    return [(start, min(start + width, channels)) for start in range(0, channels, width)]


def read_block(folder: Path, index: int, *, verify: bool) -> dict[str, Any]:
    """The record of a complete block."""
    record = read_manifest(block_path(folder, index))
    check_array(vectors_path(folder, index), record["vectors"], verify=verify)
    return record
