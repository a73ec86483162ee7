"""Where factorizations go that do not fit into memory."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.folders import user_folder
from unifilter._internal.memory import available_bytes, check_limit, resident_bytes, said_bytes
from unifilter.factorization import StoredFactorization
from unifilter.factorization.stored import factorize_to_store, in_memory_bytes
from unifilter.factorization.stored.layout import is_complete, nodes_digest
from unifilter.factorization.stored.row_cache import RowCache
from unifilter.graph import Graph

ENVIRONMENT_VARIABLE = "UNIFILTER_STORE"
# Beside the vectors, training takes sums of them and what the network makes of these.
_WITH_TRAINING = 1.25
# Whole vectors are stored where they take at most this share of what is free on the disk; else only some rows are.
_SHARE_OF_DISK = 0.5
# What the program needs beside what is accounted for.
_OVERHEAD = 100 << 20


class Storage:
    """A limit on memory, and a folder for what exceeds it.

    Args:
        memory_limit: How much memory this process may take, such as ``"4GB"``.
        folder: Where factorizations are kept for the next time; by default in a folder that is deleted afterwards, in
            the one that ``UNIFILTER_STORE`` names or in the user's cache folder.
    """

    def __init__(self, memory_limit: str | int, folder: str | os.PathLike[str] | None = None) -> None:
        self.memory_limit = check_limit(memory_limit)
        self.folder = None if folder is None else Path(folder)
        self._temporary: Path | None = None
        self._rows: tuple[tuple[str, int, bytes], RowCache] | None = None

    @classmethod
    def of(cls, memory_limit: str | int | None, folder: str | os.PathLike[str] | None) -> Storage | None:
        """From what users say: nothing, or a limit and perhaps a folder."""
        if memory_limit is None:
            if folder is not None:
                raise ValueError('a store is for what exceeds a memory_limit: pass one, such as memory_limit="4GB"')
            return None
        return cls(memory_limit, folder)

    @property
    def memory_left(self) -> int:
        """How many bytes may still be taken."""
        return max(0, self.memory_limit - resident_bytes() - _OVERHEAD)

    def factorize(
        self,
        graph: Graph,
        features: Tensor,
        hops: int,
        nodes: np.ndarray | None,
        keep_all: bool | None = None,
        **options: Any,
    ) -> StoredFactorization:
        """Factorize to the disk: all rows where there is room for them, else those of some nodes.

        Args:
            graph: The graph.
            features: The features.
            hops: Number of hops.
            nodes: The nodes whose rows are needed in any case.
            keep_all: Whether the rows of all nodes are kept, whatever room there is.
            options: Of :func:`unifilter.factorization.stored.factorize_to_store`.
        """
        base, name = self._base(), _name(graph, features, hops)
        base.mkdir(parents=True, exist_ok=True)
        found = _found(base, name, nodes) if keep_all is None else None
        if found is not None:
            kept, options = found.nodes, {"storage": "float16" if found.key.storage == "float16" else "float32"}
        else:
            size = features.shape[0] * features.shape[1] * (hops + 1) * features.dtype.itemsize
            if keep_all is None:
                keep_all = size <= _SHARE_OF_DISK * shutil.disk_usage(base).free
            kept = None if keep_all else nodes
        folder = base / (name if kept is None else f"{name}-rows-{nodes_digest(kept)[:8]}")
        return factorize_to_store(graph, features, hops, folder, memory_limit=self.memory_limit, nodes=kept, **options)

    def rows(self, fact: StoredFactorization, nodes: np.ndarray) -> RowCache:
        """The rows of some nodes, gathered once for all models that are trained on them."""
        key = str(fact.folder), fact.hops, nodes.tobytes()
        if self._rows is None or self._rows[0] != key:
            self._rows = None  # its memory is needed
            self._rows = key, RowCache(fact, torch.from_numpy(nodes), self.memory_left // 2)
        return self._rows[1]

    def _base(self) -> Path:
        if self.folder is not None:
            return self.folder
        if self._temporary is None:
            parent = user_folder(None, ENVIRONMENT_VARIABLE, "stores")
            parent.mkdir(parents=True, exist_ok=True)
            self._temporary = Path(tempfile.mkdtemp(dir=parent, prefix="fit-"))
            weakref.finalize(self, shutil.rmtree, self._temporary, True)
        return self._temporary


def fits_in_memory(features: Tensor, hops: int, storage: Storage | None, storable: bool) -> bool:
    """Whether a factorization can be in memory; refused where it cannot be anywhere.

    Args:
        features: What is factored.
        hops: Number of hops.
        storage: The limit on memory, and the folder for what exceeds it.
        storable: Whether the method reads from the disk.
    """
    if has_room(features, hops, storage):
        return True
    if storage is not None and storable:
        return False
    (nodes, channels), (needed, room) = features.shape, _needed_and_room(features, hops, storage)
    about = (
        f"the factorization of {nodes:,} nodes with {channels:,} features and {hops} hops needs {said_bytes(needed)} "
        f"of memory, and there is room for {said_bytes(room)}"
    )
    if storable:
        raise ValueError(f'{about}: pass memory_limit="{max(1, int(room / 1e9))}GB", with which it is kept on the disk')
    raise ValueError(f"{about}: lower hops, or use unifilter, which can keep it on the disk")


def has_room(features: Tensor, hops: int, storage: Storage | None) -> bool:
    """Whether the vectors of a factorization fit into memory, with what training takes beside them."""
    needed, room = _needed_and_room(features, hops, storage)
    return needed <= room


def _needed_and_room(features: Tensor, hops: int, storage: Storage | None) -> tuple[float, float]:
    nodes, channels = features.shape
    needed = in_memory_bytes(nodes, channels, hops, features.dtype.itemsize) * _WITH_TRAINING
    return needed, available_bytes() if storage is None else storage.memory_left


def holds(fact: StoredFactorization, nodes: np.ndarray | None) -> bool:
    """Whether a store has the rows of some nodes."""
    return fact.nodes is None or (nodes is not None and bool(np.isin(nodes, fact.nodes).all()))


def _found(base: Path, name: str, nodes: np.ndarray | None) -> StoredFactorization | None:
    """A store of this that is complete and holds the rows of some nodes."""
    for folder in (base / name, *sorted(base.glob(f"{name}-rows-*"))):
        if is_complete(folder):
            fact = StoredFactorization.open(folder, verify=False)  # all is verified when it is taken up
            if holds(fact, nodes):
                return fact
    return None


def _name(graph: Graph, features: Tensor, hops: int) -> str:
    """The same for the same, so that the next run finds it; the store itself checks what it is of."""
    digest = hashlib.sha256(graph.checksum.encode())
    parts = [features] if features.layout == torch.strided else [features.values(), features.col_indices()]
    for part in parts:
        # Numbers here and there tell features apart; all of them are in the digest of the store.
        flat = part.reshape(-1)
        digest.update(f"{tuple(part.shape)} {part.dtype}".encode())
        digest.update(flat[:: max(1, len(flat) // 65536)].contiguous().numpy().tobytes())
    return f"{hops}-hops-{digest.hexdigest()[:16]}"
