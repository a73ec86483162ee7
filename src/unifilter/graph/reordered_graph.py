"""A graph whose rows are stored in another order than its nodes, so that products find neighbors close together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from unifilter._internal.checks import without_torch_notices
from unifilter.graph.edge_blocks import entry_blocks
from unifilter.graph.graph import Graph
from unifilter.kernels.compressed_rows import CompressedRows


class ReorderedGraph(Graph):
    """An undirected graph with its rows stored in another order.

    Everything that the graph gives and takes is in the order of the nodes, as for any :class:`unifilter.Graph`.
    Products use :attr:`stored_rows` instead of the adjacency: they put the signal into the order of the rows, and the
    result back. The adjacency in the order of the nodes is built in memory when a method asks for it.

    Args:
        stored: The graph with its nodes renamed to their rows.
        node_of_row: The node of each row, int64.
        row_of_node: The row of each node, int64.
    """

    def __init__(self, stored: Graph, node_of_row: Tensor, row_of_node: Tensor) -> None:
        super().__init__(
            torch.empty(0), torch.empty(0), None, self_loops=stored.self_loops, duplicates=stored.duplicates,
            edge_facts=stored.edge_facts,
        )  # fmt: skip
        # Built when they are asked for, see below.
        del self.row_start, self.neighbors, self.weights
        self.stored, self.folder = stored, stored.folder
        self.node_of_row, self.row_of_node = node_of_row, row_of_node

    def __getattr__(self, name: str) -> Any:
        if name not in ("row_start", "neighbors", "weights"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.row_start, self.neighbors, self.weights = self._in_order_of_nodes()
        return getattr(self, name)

    def __getstate__(self) -> dict[str, Any]:
        names = ("stored", "node_of_row", "row_of_node", "self_loops", "duplicates", "direction", "edge_facts")
        return {**{name: getattr(self, name) for name in names}, "folder": None, "_matrices": {}, "cache": {}}

    @property
    def num_nodes(self) -> int:
        return self.row_of_node.numel()

    @property
    def num_entries(self) -> int:
        return self.stored.num_entries

    @property
    def device(self) -> torch.device:
        return self.row_of_node.device

    @property
    def stored_rows(self) -> CompressedRows:
        return self.stored.compressed_rows

    def in_stored_order(self, x: Tensor) -> Tensor:
        if x.layout == torch.strided:
            return x.index_select(0, self.node_of_row)
        with without_torch_notices():
            return torch.sparse_csc_tensor(
                x.ccol_indices(), self.row_of_node[x.row_indices()], x.values(), x.shape, check_invariants=False
            )

    def in_node_order(self, x: Tensor, out: Tensor | None = None) -> Tensor:
        return torch.index_select(x, 0, self.row_of_node, out=out)

    @cached_property
    def degree(self) -> Tensor:
        return self.in_node_order(self.stored.degree)

    @cached_property
    def isolated(self) -> Tensor:
        return self.in_node_order(self.stored.isolated)

    @property
    def _num_loops(self) -> int:
        return self.stored._num_loops

    def edge_blocks(self) -> Iterator[tuple[Tensor, Tensor]]:
        for rows, weights in entry_blocks(self.stored):
            ends = self.node_of_row[rows]
            once = ends[0] < ends[1]
            yield ends[:, once], weights[once]

    def update_digest(self, digest: Any) -> None:
        # Sums in another order round differently, so this is not the digest of the graph in the order of its nodes.
        digest.update(b"stored in the order\n")
        digest.update(np.ascontiguousarray(self.node_of_row.numpy(), "<i8").data)
        self.stored.update_digest(digest)

    def _in_order_of_nodes(self) -> tuple[Tensor, Tensor, Tensor | None]:
        stored = self.stored
        weights = np.ones(stored.num_entries, np.int8) if stored.weights is None else stored.weights.numpy()
        columns = self.node_of_row.numpy()[stored.neighbors.numpy()].astype(np.int32)
        size = (self.num_nodes, self.num_nodes)
        adjacency = sp.csr_array((weights, columns, stored.row_start.numpy()), shape=size)[self.row_of_node.numpy()]
        adjacency.sort_indices()
        return (
            torch.from_numpy(adjacency.indptr.astype(np.int64)),
            torch.from_numpy(adjacency.indices.astype(np.int32)),
            None if stored.weights is None else torch.from_numpy(adjacency.data),
        )
