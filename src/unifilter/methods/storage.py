"""Storage on disk for factorizations that do not fit into memory."""

from __future__ import annotations

import hashlib
import os
import shutil
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.array_files import open_array, write_array
from unifilter._internal.checks import without_torch_notices
from unifilter._internal.folders import user_folder
from unifilter._internal.memory import available_bytes, check_limit, resident_bytes, said_bytes
from unifilter._internal.scratch import scratch_folder
from unifilter.bases import Tridiagonal
from unifilter.factorization import Factorization, StoredFactorization
from unifilter.factorization.stored import factorize_to_store, in_memory_bytes
from unifilter.factorization.stored.feature_columns import FeatureColumns
from unifilter.factorization.stored.filtered import filtered_rows_elsewhere
from unifilter.factorization.stored.layout import is_complete, nodes_digest
from unifilter.factorization.stored.row_cache import RowCache
from unifilter.graph import Graph
from unifilter.training import Peers

ENVIRONMENT_VARIABLE = "UNIFILTER_STORE"
# Besides the vectors, training holds their weighted sums and the activations of the network.
_WITH_TRAINING = 1.25
# Whole vectors are stored if they take at most this share of the free disk space. Otherwise only some rows are stored.
_SHARE_OF_DISK = 0.5
# Memory of the program besides the arrays accounted for.
_OVERHEAD = 100 << 20


class Storage:
    """A memory limit, and a folder for factorizations that exceed it.

    Args:
        memory_limit: Memory that this process may use, such as ``"4GB"``.
        folder: Folder in which factorizations are kept for later runs. Default: a folder that is deleted afterwards,
            inside the folder named by ``UNIFILTER_STORE`` or inside the user's cache folder.
    """

    def __init__(self, memory_limit: str | int, folder: str | os.PathLike[str] | None = None) -> None:
        self.memory_limit = check_limit(memory_limit)
        self.folder = None if folder is None else Path(folder)
        self._temporary: Path | None = None
        self._rows: tuple[tuple[str, int, bytes], RowCache] | None = None

    @classmethod
    def of(cls, memory_limit: str | int | None, folder: str | os.PathLike[str] | None) -> Storage | None:
        """Storage from the user's arguments; ``None`` without a memory limit."""
        if memory_limit is None:
            if folder is not None:
                raise ValueError('a store needs a memory_limit: pass one, such as memory_limit="4GB"')
            return None
        return cls(memory_limit, folder)

    @property
    def memory_left(self) -> int:
        """Number of bytes that are still available."""
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
        """Factorize to disk: the rows of all nodes if there is room, otherwise the rows of some nodes.

        If several processes train together, the first one computes and writes, and all of them read the same files.

        Args:
            graph: The graph.
            features: The features.
            hops: Number of hops.
            nodes: Nodes whose rows are always needed.
            keep_all: Whether to keep the rows of all nodes regardless of the free space.
            options: Options of :func:`unifilter.factorization.stored.factorize_to_store`.
        """
        peers = Peers.current()
        if not peers.several:
            return self._factorized(graph, features, hops, nodes, keep_all, options)
        folder = peers.once(lambda: self._factorized(graph, features, hops, nodes, keep_all, options).folder)
        seen = all(peers.gathered(is_complete(folder)))
        if not seen:
            raise ValueError(
                f"the first process stored the factorization in {folder}, and not all processes see this folder: pass "
                "a store in a folder that all machines share"
            )
        if self.folder is None and not peers.first:
            folder = self._linked(folder)
        # No process goes on, and perhaps deletes its folder, before all have theirs.
        peers.gathered(None)
        return StoredFactorization.open(folder, verify=False)

    def _factorized(
        self,
        graph: Graph,
        features: Tensor,
        hops: int,
        nodes: np.ndarray | None,
        keep_all: bool | None,
        options: dict[str, Any],
    ) -> StoredFactorization:
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

    def _linked(self, folder: Path) -> Path:
        """Links to the files of a temporary store, which stay readable when the process that wrote it ends."""
        linked = self._base() / folder.name
        linked.mkdir(exist_ok=True)
        for path in folder.glob("[!.]*"):
            (linked / path.name).unlink(missing_ok=True)
            os.link(path, linked / path.name)
        return linked

    def rows(self, fact: StoredFactorization, nodes: np.ndarray) -> RowCache:
        """The rows of some nodes, gathered once for all models trained on these nodes."""
        key = str(fact.folder), fact.hops, nodes.tobytes()
        if self._rows is None or self._rows[0] != key:
            self._rows = None  # frees the memory of the previous rows
            self._rows = key, RowCache(fact, torch.from_numpy(nodes), self.memory_left // 2)
        return self._rows[1]

    def filtered_rows(
        self, graph: Graph, columns: FeatureColumns, tridiagonal: Tridiagonal, weights: Tensor
    ) -> Iterator[Tensor]:
        """Features of any graph, filtered by a recurrence, some rows at a time."""
        base = self._base()
        base.mkdir(parents=True, exist_ok=True)
        return filtered_rows_elsewhere(graph, columns, tridiagonal, weights, self.memory_left, base)

    def _base(self) -> Path:
        if self.folder is not None:
            return self.folder
        if self._temporary is None:
            parent = user_folder(None, ENVIRONMENT_VARIABLE, "stores")
            parent.mkdir(parents=True, exist_ok=True)
            stack = ExitStack()
            self._temporary = stack.enter_context(scratch_folder(parent, "fit-"))
            weakref.finalize(self, stack.close)
        return self._temporary


def computed_once(factorize: Callable[[], Factorization]) -> Factorization:
    """A factorization in memory. Processes on one machine that train together have its vectors in common."""
    peers = Peers.current()
    if not peers.several:
        return factorize()
    parent = user_folder(None, ENVIRONMENT_VARIABLE, "stores")

    with ExitStack() as stack:

        def work() -> tuple[Path, dict[str, Any], Tridiagonal]:
            fact = factorize()
            parent.mkdir(parents=True, exist_ok=True)
            path = stack.enter_context(scratch_folder(parent, "vectors-")) / "vectors.npy"
            return path, write_array(path, fact.vectors.numpy()), fact.tridiagonal

        path, record, tridiagonal = peers.once(work, on_each_machine=True)
        with without_torch_notices():
            vectors = torch.from_numpy(open_array(path, record, verify=False))
        # Once all processes have mapped the file, it needs no name any more.
        peers.gathered(None)
    return Factorization(vectors, tridiagonal)


def fits_in_memory(features: Tensor, hops: int, storage: Storage | None, storable: bool) -> bool:
    """Whether a factorization fits into memory. Raises an error if it does not fit and cannot be stored on disk.

    Args:
        features: The features to factor.
        hops: Number of hops.
        storage: The memory limit, and the folder for factorizations that exceed it.
        storable: Whether the method can read rows from disk.
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
    """Whether the vectors of a factorization fit into memory together with the arrays of training."""
    needed, room = _needed_and_room(features, hops, storage)
    return needed <= room


def _needed_and_room(features: Tensor, hops: int, storage: Storage | None) -> tuple[float, float]:
    nodes, channels = features.shape
    needed = in_memory_bytes(nodes, channels, hops, features.dtype.itemsize) * _WITH_TRAINING
    room = available_bytes() if storage is None else storage.memory_left
    # Processes that train together come to the same decision.
    return needed, min(Peers.current().gathered(room))


def holds(fact: StoredFactorization, nodes: np.ndarray | None) -> bool:
    """Whether a store has the rows of some nodes."""
    return fact.nodes is None or (nodes is not None and bool(np.isin(nodes, fact.nodes).all()))


def _found(base: Path, name: str, nodes: np.ndarray | None) -> StoredFactorization | None:
    """A complete store with this name that holds the rows of the given nodes."""
    for folder in (base / name, *sorted(base.glob(f"{name}-rows-*"))):
        if is_complete(folder):
            fact = StoredFactorization.open(folder, verify=False)  # all is verified when it is taken up
            if holds(fact, nodes):
                return fact
    return None


def _name(graph: Graph, features: Tensor, hops: int) -> str:
    """A name computed from the input, so that the next run finds the store. The store itself checks its full key."""
    digest = hashlib.sha256(graph.checksum.encode())
    parts = [features] if features.layout == torch.strided else [features.values(), features.col_indices()]
    for part in parts:
        # A sample of the entries is enough for the name; the digest inside the store covers all entries.
        flat = part.reshape(-1)
        digest.update(f"{tuple(part.shape)} {part.dtype}".encode())
        digest.update(flat[:: max(1, len(flat) // 65536)].contiguous().numpy().tobytes())
    return f"{hops}-hops-{digest.hexdigest()[:16]}"
