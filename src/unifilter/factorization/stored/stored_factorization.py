"""A factorization with its vectors on disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.array_files import CHUNK_BYTES, open_array, read_part
from unifilter.bases import Tridiagonal
from unifilter.factorization.diagnostics import Diagnostics
from unifilter.factorization.factorization import OnTridiagonal
from unifilter.factorization.stored.block import decode, storage_scale
from unifilter.factorization.stored.layout import (
    NODES,
    StoreKey,
    block_path,
    column_blocks,
    read_block,
    read_store_manifest,
    vectors_path,
)

# Number of consecutive rows that are read together if only some rows are requested.
_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, repr=False, eq=False)
class StoredFactorization(OnTridiagonal):
    """A factorization in a store, written by :func:`unifilter.factorize`. Rows of vectors are read on request.

    Attributes:
        folder: The store.
        key: Key of the store.
        tridiagonal: The small matrices, one per channel.
        blocks: Record of each block of columns.
        nodes: Nodes whose rows are stored, ascending; ``None`` for all nodes.

    Example:
        >>> import tempfile
        >>> import torch
        >>> from unifilter import Graph, factorize
        >>> ring = Graph.from_edges(torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fact = factorize(ring, torch.eye(5)[:, :2], hops=2, store=folder, memory_limit="4GB")
        ...     fact, fact.vectors_of([0, 2]).shape
        (StoredFactorization(hops=2, num_nodes=5, channels=2, storage=float32, rows=all), torch.Size([3, 2, 2]))
    """

    folder: Path
    key: StoreKey
    tridiagonal: Tridiagonal
    blocks: tuple[dict[str, Any], ...]
    nodes: np.ndarray | None

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, verify: bool = True) -> StoredFactorization:
        """Open a complete store.

        Args:
            folder: Folder of the store.
            verify: Whether to read everything once and compare checksums. Otherwise only sizes are compared.
        """
        path = Path(folder)
        key, width, record = read_store_manifest(path)
        spans = column_blocks(key.channels, width)
        missing = [index for index in range(len(spans)) if not block_path(path, index).exists()]
        if missing:
            raise ValueError(
                f"{path} is not complete: {len(missing)} of {len(spans)} blocks are missing; factorize again with the "
                "same arguments, which goes on from there"
            )
        blocks = tuple(read_block(path, index, verify=verify) for index in range(len(spans)))
        for span, block in zip(spans, blocks, strict=True):
            if tuple(block["columns"]) != span:
                raise ValueError(f"the blocks of {path} do not fit together: delete the folder and factorize again")
        nodes = None if record is None else np.array(open_array(path / NODES, record, verify=verify))
        dtype = key.torch_type

        def joined(name: str, number: torch.dtype) -> Tensor:
            return torch.cat([torch.tensor(block[name], dtype=number) for block in blocks], dim=-1)

        tridiagonal = Tridiagonal(
            joined("alpha", dtype), joined("beta", dtype), joined("norm", dtype), joined("dimension", torch.long)
        )
        return cls(path, key, tridiagonal, blocks, nodes)

    def __repr__(self) -> str:
        rows = "all" if self.nodes is None else f"{len(self.nodes):,}"
        return (
            f"{type(self).__name__}(hops={self.hops}, num_nodes={self.num_nodes}, channels={self.channels}, "
            f"storage={self.key.storage}, rows={rows})"
        )

    @property
    def num_nodes(self) -> int:
        return self.key.num_nodes

    @property
    def dtype(self) -> torch.dtype:
        """Data type of the rows."""
        return self.key.torch_type

    @property
    def storage_error(self) -> float:
        """The largest norm of the storage error of a vector; vectors have length 1."""
        return float(max(block["error"] for block in self.blocks))

    @property
    def row_bytes(self) -> int:
        """Bytes of the vectors of a node in memory."""
        return (self.hops + 1) * self.channels * self.dtype.itemsize

    def truncate(self, hops: int) -> StoredFactorization:
        """The factorization with fewer hops, at no cost."""
        return self if hops == self.hops else replace(self, tridiagonal=self.tridiagonal.truncate(hops))

    def vectors_of(self, nodes: Any) -> Tensor:
        """The Lanczos vectors at some nodes, ``[hops + 1, len(nodes), channels]``; a view of ``[len(nodes), ...]``."""
        wanted = torch.as_tensor(nodes, dtype=torch.long).reshape(-1)
        ascending, order = wanted.sort()
        out = torch.empty(len(wanted), self.hops + 1, self.channels, dtype=self.dtype)
        done = 0
        for found, rows in self.row_parts(ascending):
            out[order[done : done + len(found)]] = rows
            done += len(found)
        return out.transpose(0, 1)

    def row_parts(self, ascending: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Rows of ascending nodes, some at a time: the nodes and ``[rows, hops + 1, channels]``.

        Files are read from front to back.
        """
        places = self._places(ascending)
        # Keeps the sizes of reads and of results near one chunk.
        step = max(1, min(_ROWS_AT_ONCE, 4 * CHUNK_BYTES // self.row_bytes))
        done = 0
        with ExitStack() as stack:
            paths = [vectors_path(self.folder, index) for index in range(len(self.blocks))]
            files = [stack.enter_context(path.open("rb", buffering=0)) for path in paths]
            while done < len(places):
                first = int(places[done])
                count = int(torch.searchsorted(places, first + step)) - done
                chosen = places[done : done + count] - first
                yield ascending[done : done + count], self._read(files, first, chosen)
                done += count

    def _places(self, nodes: Tensor) -> Tensor:
        """Positions of nodes in the files."""
        if len(nodes) and not 0 <= int(nodes[0]) <= int(nodes[-1]) < self.num_nodes:
            wrong = nodes[0] if nodes[0] < 0 else nodes[-1]
            raise ValueError(f"there is no node {int(wrong)}: nodes are 0 to {self.num_nodes - 1}")
        if self.nodes is None:
            return nodes
        kept = torch.from_numpy(self.nodes)
        places = torch.searchsorted(kept, nodes).clamp(max=max(len(kept) - 1, 0))
        wrong = (kept[places] != nodes).nonzero() if len(kept) else torch.zeros(min(len(nodes), 1), 1, dtype=torch.long)
        if len(wrong):
            raise ValueError(
                f"{self.folder} does not hold the rows of node {int(nodes[wrong[0]])}: factorize again with it among "
                "nodes, or without nodes, which stores all of them"
            )
        return places

    def _read(self, files: list[Any], first: int, chosen: Tensor) -> Tensor:
        """Some of the rows from ``first`` on, ``[rows, hops + 1, channels]``."""
        count = int(chosen[-1]) + 1
        every = count == len(chosen)
        out = torch.empty(len(chosen), self.hops + 1, self.channels, dtype=self.dtype)
        scale, stored_hops = storage_scale(self.key), self.key.hops + 1
        for block, file in zip(self.blocks, files, strict=True):
            record, columns = block["vectors"], slice(*block["columns"])
            width = columns.stop - columns.start
            if self.nodes is not None:
                buffer = np.empty((count, stored_hops, width), record["dtype"])
                read_part(file, {**record, "shape": [1, *record["shape"]]}, 0, first, buffer)
                rows = torch.from_numpy(buffer)
                out[:, :, columns] = decode(rows if every else rows[chosen], scale, self.dtype)[:, : self.hops + 1]
                continue
            buffer = np.empty((count, width), record["dtype"])
            for hop in range(self.hops + 1):
                read_part(file, record, hop, first, buffer)
                rows = torch.from_numpy(buffer)
                out[:, hop, columns] = decode(rows if every else rows[chosen], scale, self.dtype)
        return out

    def diagnostics(self, homophily: float = 0.5) -> Diagnostics:
        """The accuracy of the factorization, channel by channel; reads all vectors once.

        Args:
            homophily: Homophily at which the angles of the heterophily basis are compared with Theorem 4.3.
        """
        if self.nodes is not None:
            raise ValueError(
                f"{self.folder} holds the rows of some nodes, and inner products need all: factorize without nodes"
            )
        gram = torch.zeros(self.channels, self.hops + 1, self.hops + 1, dtype=torch.float64)
        for _, rows in self.row_parts(torch.arange(self.num_nodes)):
            vectors = rows.permute(2, 1, 0).double()
            gram += vectors @ vectors.transpose(1, 2)
        return Diagnostics.from_gram(gram, self.tridiagonal, homophily)
