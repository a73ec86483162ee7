"""A cache of rows that are read repeatedly, such as those of the training nodes: in memory, or row by row on disk."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.array_files import told_of_full_disks
from unifilter.factorization.stored.stored_factorization import StoredFactorization


class RowCache:
    """The vectors of some nodes, gathered once from a store, which is organized in blocks of columns.

    Rows that do not fit into memory are written to one file, row by row, so that a row is a single read. The file is
    deleted with the cache. A thread reads announced batches ahead.

    Args:
        fact: The store.
        nodes: Nodes of the rows.
        memory: Maximum number of bytes in memory.
    """

    def __init__(self, fact: StoredFactorization, nodes: Tensor, memory: int) -> None:
        self._nodes = torch.from_numpy(np.unique(nodes.numpy()))
        self._row = (fact.hops + 1, fact.channels)
        self._dtype, self._row_bytes = fact.dtype, fact.row_bytes
        self.in_memory = len(self._nodes) * self._row_bytes <= memory
        self._announced: deque[Tensor] = deque()
        self._ahead: tuple[Tensor, Future[Tensor]] | None = None
        if self.in_memory:
            self._rows = torch.empty(len(self._nodes), *self._row, dtype=self._dtype)
            done = 0
            for found, rows in fact.row_parts(self._nodes):
                self._rows[done : done + len(found)] = rows
                done += len(found)
            return
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="unifilter-rows")
        with told_of_full_disks(fact.folder), tempfile.TemporaryFile(dir=fact.folder, prefix=".rows-") as file:
            for _, rows in fact.row_parts(self._nodes):
                file.write(rows.contiguous().numpy().data)
            file.flush()
            self._file = os.dup(file.fileno())
        weakref.finalize(self, _close, self._thread, self._file)

    def has(self, nodes: Tensor) -> bool:
        """Whether the cache has all of these nodes."""
        places = torch.searchsorted(self._nodes, nodes).clamp(max=len(self._nodes) - 1)
        return bool((self._nodes[places] == nodes).all())

    @property
    def all_rows(self) -> Tensor | None:
        """All rows if they are in memory, ``[rows, hops + 1, channels]``."""
        return self._rows if self.in_memory else None

    def places(self, nodes: Tensor) -> Tensor:
        """Positions of nodes among the rows."""
        return torch.searchsorted(self._nodes, nodes)

    def announce(self, batches: Sequence[Tensor]) -> None:
        """Announce the nodes of the next calls of :meth:`read`, in order."""
        if not self.in_memory:
            self._announced = deque(batches)
            self._read_ahead()

    def read(self, nodes: Tensor) -> Tensor:
        """The vectors of some nodes, ``[nodes, hops + 1, channels]``."""
        if self.in_memory:
            return self._rows[self.places(nodes)]
        if self._ahead is not None and self._ahead[0] is nodes:
            rows = self._ahead[1].result()
            self._read_ahead()
            return rows
        return self._read(nodes)

    def _read_ahead(self) -> None:
        self._ahead = None
        if self._announced:
            batch = self._announced.popleft()
            self._ahead = batch, self._thread.submit(self._read, batch)

    def _read(self, nodes: Tensor) -> Tensor:
        rows = torch.empty(len(nodes), *self._row, dtype=self._dtype)
        places, order = self.places(nodes).sort()
        view = rows.numpy()
        for place, index in zip(places.tolist(), order.tolist(), strict=True):
            # Plain reads, because mapped pages would count as memory.
            buffer = view[index].reshape(-1).view("u1").data
            if os.preadv(self._file, [buffer], place * self._row_bytes) != self._row_bytes:
                raise ValueError("the file of rows ends before it should: the disk may be damaged")
        return rows


def _close(thread: ThreadPoolExecutor, file: int) -> None:
    thread.shutdown(cancel_futures=True)
    os.close(file)
