"""The graph and its propagation matrix: the first stage, and the only one that sees edges."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from unifilter._internal.checks import (
    as_feature_matrix,
    check_choice,
    check_edge_weight,
    check_edges,
    without_torch_notices,
)
from unifilter.graph.adjacency import Duplicates, merged_adjacency, with_loops
from unifilter.graph.edge_facts import EdgeFacts
from unifilter.kernels.compressed_rows import CompressedRows
from unifilter.kernels.propagate import propagate

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data

# Degrees in this range are safe for the kernels in single precision. The weights of other graphs are normalized
# first.
_ORDINARY_DEGREES = (2.0**-20, 2.0**40)

# How many entries of the adjacency are looked at together: little beside the graph.
_ENTRIES_AT_ONCE = 1 << 22

SelfLoops = Literal["remove", "add", "keep"]
Direction = Literal["undirected", "out", "in"]


class Graph:
    r"""A graph with the propagation matrix :math:`\mathbf{P} = \mathbf{D}^{-1/2} \mathbf{A} \mathbf{D}^{-1/2}`.

    Create a graph with :meth:`from_edges`, :meth:`from_scipy`, :meth:`from_networkx` or :meth:`from_data`, or
    :meth:`open` one in a folder, which may be larger than memory.
    For any input, the resulting adjacency :math:`\mathbf{A}` is non-negative and, by default, symmetric:

    * directions are dropped; if the two directions of an edge have different weights, the larger weight is used;
    * an edge listed twice in the same direction becomes one edge. Its weights are merged as set by ``duplicates``;
      without weights the edge has weight 1;
    * edges of weight zero are dropped;
    * self-loops are removed, or (``self_loops="add"``) replaced by one self-loop of weight 1 on every node, or
      (``self_loops="keep"``) kept as listed;
    * isolated nodes have a zero row in :math:`\mathbf{P}`.

    With ``direction="out"`` the graph stays directed: a node receives messages from the nodes it points to, row i of
    :math:`\mathbf{A}` has its out-edges, and :math:`\mathbf{D}` are the row sums. With ``"in"`` it receives messages
    from the nodes that point to it, as in PyG. Message-passing methods (GCN, GAT, ...) accept such a graph. Anything
    that needs a symmetric matrix raises an error: the factorization, polynomial filters, eigenvectors and frequencies.

    ``edge_facts`` describes the original edge list (:class:`unifilter.graph.EdgeFacts`), if known. A graph is
    immutable, so values cached on it stay valid.

    Example:
        >>> import torch
        >>> from unifilter import Graph
        >>> Graph.from_edges(torch.tensor([[0, 1, 1], [1, 0, 2]]), num_nodes=4)
        Graph(num_nodes=4, num_edges=2, weighted=False, self_loops='remove', duplicates='sum', isolated=1)
    """

    def __init__(
        self,
        row_start: Tensor,
        neighbors: Tensor,
        weights: Tensor | None,
        *,
        self_loops: SelfLoops,
        duplicates: Duplicates,
        direction: Direction = "undirected",
        edge_facts: EdgeFacts | None = None,
    ) -> None:
        # Compressed sparse rows of the adjacency: row i lists the nodes that i receives messages from. `weights` is
        # None if every weight is 1, which saves the kernels a load and a multiplication per edge.
        self.row_start = row_start
        self.neighbors = neighbors
        self.weights = weights
        self.self_loops = self_loops
        self.duplicates = duplicates
        self.direction = direction
        # Provenance only: neither the checksum nor any result depends on it.
        self.edge_facts = edge_facts
        # The folder that the arrays are mapped from, where they are.
        self.folder: Path | None = None
        self._matrices: dict[torch.dtype, Tensor] = {}
        # Values computed from the graph by other modules, kept as long as the graph exists.
        self.cache: dict[str, Any] = {}

    @classmethod
    def from_edges(
        cls,
        edge_index: Tensor | np.ndarray,
        num_nodes: int | None = None,
        edge_weight: Tensor | np.ndarray | None = None,
        *,
        self_loops: SelfLoops = "remove",
        duplicates: Duplicates = "sum",
        direction: Direction = "undirected",
    ) -> Graph:
        """Create a graph from an edge list in PyG's format.

        Args:
            edge_index: Integers of shape ``[2, num_listed_edges]``; each edge once, in both directions, or both.
            num_nodes: Number of nodes. Default: one more than the largest index.
            edge_weight: One non-negative number per listed edge. Default: 1 for every edge.
            self_loops: ``"remove"`` self-loops, ``"add"`` one of weight 1 to every node instead, or ``"keep"`` those
                listed.
            duplicates: How to merge the weights of an edge listed twice in one direction, ``"sum"`` or ``"max"``.
            direction: ``"undirected"`` drops directions; with ``"out"`` a node receives messages from the nodes it
                points to, with ``"in"`` from those that point to it.
        """
        source, target, nodes = check_edges(edge_index, num_nodes)
        weight = check_edge_weight(edge_weight, source, target)
        check_choice("self_loops", self_loops, get_args(SelfLoops))
        check_choice("duplicates", duplicates, get_args(Duplicates))
        check_choice("direction", direction, get_args(Direction))
        listed, merged = merged_adjacency(source, target, weight, nodes, duplicates, self_loops == "keep")
        both_ways = listed.maximum(listed.T).tocsr()
        one_directional = both_ways.nnz - listed.nnz
        adjacency = sp.csr_array({"undirected": both_ways, "out": listed, "in": listed.T}[direction])
        graph = cls._from_adjacency(
            with_loops(adjacency) if self_loops == "add" else adjacency,
            edge_index.device if isinstance(edge_index, Tensor) else torch.device("cpu"),
            self_loops=self_loops,
            duplicates=duplicates,
            direction=direction,
        )
        graph.edge_facts = EdgeFacts(
            given=len(source),
            one_directional=one_directional,
            duplicates=merged,
            self_loops=int((source == target).sum()),
            weighted=graph.weights is not None,
        )
        return graph

    @classmethod
    def _from_adjacency(cls, adjacency: sp.csr_array, device: torch.device, **kinds: Any) -> Graph:
        """Create a graph from compressed sparse rows, after duplicates, directions and self-loops were treated."""
        adjacency.sort_indices()
        weighted = bool((adjacency.data != 1).any())
        graph = cls(
            torch.from_numpy(adjacency.indptr.astype(np.int64)).to(device),
            # 32-bit node indices halve what the kernels read; no graph that fits in memory has 2^31 nodes.
            torch.from_numpy(adjacency.indices.astype(np.int32)).to(device),
            torch.from_numpy(adjacency.data).to(device) if weighted else None,
            **kinds,
        )
        if weighted:
            graph._check_degrees()
        return graph

    @classmethod
    def from_scipy(
        cls,
        adjacency: Any,
        *,
        self_loops: SelfLoops = "remove",
        duplicates: Duplicates = "sum",
        direction: Direction = "undirected",
    ) -> Graph:
        """Create a graph from a square adjacency matrix, scipy sparse or numpy. Its non-zero values are the weights.

        An entry in row i and column j is an edge from i to j. The other arguments are as in :meth:`from_edges`.
        """
        entries = sp.coo_array(adjacency)
        if len(entries.shape) != 2 or entries.shape[0] != entries.shape[1]:
            raise ValueError(f"an adjacency must be square, but this one is {entries.shape}: pass an n x n matrix")
        return cls.from_edges(
            np.stack([entries.row, entries.col]),
            num_nodes=entries.shape[0],
            edge_weight=entries.data,
            self_loops=self_loops,
            duplicates=duplicates,
            direction=direction,
        )

    @classmethod
    def from_networkx(
        cls,
        graph: nx.Graph,
        weight: str | None = "weight",
        *,
        self_loops: SelfLoops = "remove",
        duplicates: Duplicates = "sum",
        direction: Direction = "undirected",
    ) -> Graph:
        """Create a graph from a networkx graph. Nodes are numbered in the order networkx lists them.

        Args:
            graph: The networkx graph.
            weight: The edge attribute with the weight, as in networkx (1 for an edge without it); ``None`` ignores
                weights.
            self_loops: ``"remove"`` self-loops, ``"add"`` one of weight 1 to every node instead, or ``"keep"`` them.
            duplicates: How to merge parallel edges of a multigraph, ``"sum"`` or ``"max"``.
            direction: As in :meth:`from_edges`; keep it ``"undirected"`` unless the graph is a ``DiGraph``.
        """
        if direction != "undirected" and not graph.is_directed():
            raise ValueError(
                f"direction is {direction!r}, but this networkx graph has no directed edges: pass a DiGraph, or leave "
                "direction out"
            )
        number = {node: index for index, node in enumerate(graph.nodes)}
        ends = np.array([(number[u], number[v]) for u, v in graph.edges()], dtype=np.int64).reshape(-1, 2)
        weights = (
            None
            if weight is None
            else np.array([value for *_, value in graph.edges(data=weight, default=1)], dtype=np.float64)
        )
        return cls.from_edges(
            ends.T,
            num_nodes=len(number),
            edge_weight=weights,
            self_loops=self_loops,
            duplicates=duplicates,
            direction=direction,
        )

    @classmethod
    def from_data(
        cls,
        data: Data,
        *,
        self_loops: SelfLoops = "remove",
        duplicates: Duplicates = "sum",
        direction: Direction = "undirected",
    ) -> Graph:
        """Create a graph from a PyG ``Data`` with ``edge_index``, ``num_nodes`` and, optionally, ``edge_weight``."""
        if getattr(data, "edge_index", None) is None:
            raise ValueError("this Data object has no edge_index: set data.edge_index (a [2, num_edges] tensor) first")
        return cls.from_edges(
            data.edge_index,
            num_nodes=data.num_nodes,
            edge_weight=getattr(data, "edge_weight", None),
            self_loops=self_loops,
            duplicates=duplicates,
            direction=direction,
        )

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, verify: bool = True) -> Graph:
        """A graph from a folder that :meth:`save` or :func:`unifilter.graph.convert_edges` wrote.

        Its arrays stay on the disk and are mapped: parts come into memory when they are used, and can leave it again.

        Args:
            folder: The folder.
            verify: Whether to read everything once and compare checksums. Without, only sizes are compared.
        """
        from unifilter.graph.graph_folder import open_graph

        return open_graph(Path(folder), verify=verify)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the graph to a new folder, from which :meth:`open` maps it.

        Example:
            >>> import tempfile
            >>> import torch
            >>> from unifilter import Graph
            >>> path = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     path.save(f"{folder}/path")
            ...     Graph.open(f"{folder}/path")
            Graph(num_nodes=3, num_edges=2, weighted=False, self_loops='remove', duplicates='sum', isolated=0)
        """
        from unifilter.graph.graph_folder import save_graph

        save_graph(self, Path(folder))

    def __getstate__(self) -> dict[str, Any]:
        # Cached values can be computed again, and torch cannot pickle sparse tensors.
        names = ("row_start", "neighbors", "weights", "self_loops", "duplicates", "direction", "edge_facts")
        return {**{name: getattr(self, name) for name in names}, "folder": None, "_matrices": {}, "cache": {}}

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        # A graph is immutable, so a copy would only take memory: clones of an estimator share it.
        return self

    def __repr__(self) -> str:
        direction = "" if self.is_undirected else f", direction={self.direction!r}"
        return (
            f"{type(self).__name__}(num_nodes={self.num_nodes}, num_edges={self.num_edges}, "
            f"weighted={self.weights is not None}, self_loops={self.self_loops!r}, "
            f"duplicates={self.duplicates!r}, isolated={int(self.isolated.sum())}{direction})"
        )

    @property
    def num_nodes(self) -> int:
        return self.row_start.numel() - 1

    @property
    def is_undirected(self) -> bool:
        return self.direction == "undirected"

    def require_undirected(self, what: str) -> None:
        """Raise an error for a directed graph.

        Args:
            what: The operation that needs a symmetric matrix.
        """
        if not self.is_undirected:
            raise ValueError(
                f"{what} needs an undirected graph, but this one is directed (direction={self.direction!r}): build it "
                'with direction="undirected", or use a message-passing method, such as gcn'
            )

    @property
    def num_edges(self) -> int:
        """Number of edges: undirected edges count once, self-loops do not count."""
        entries = self.neighbors.numel() - self._num_loops
        return entries // 2 if self.is_undirected else entries

    @property
    def device(self) -> torch.device:
        return self.row_start.device

    def to(self, device: torch.device | str) -> Graph:
        """The graph on another device; the graph itself if it is there already."""
        if torch.device(device) == self.device:
            return self
        return Graph(
            self.row_start.to(device),
            self.neighbors.to(device),
            None if self.weights is None else self.weights.to(device),
            self_loops=self.self_loops,
            duplicates=self.duplicates,
            direction=self.direction,
            edge_facts=self.edge_facts,
        )

    def with_self_loops(self, self_loops: SelfLoops) -> Graph:
        """The graph with one more self-loop of weight 1 on every node (``"add"``), or without any (``"remove"``).

        Returns the graph itself if nothing changes. A self-loop that was kept has weight 2 after another one is added.
        """
        check_choice("self_loops", self_loops, get_args(SelfLoops))
        if self_loops in (self.self_loops, "keep"):
            return self
        weights = np.ones(self.neighbors.numel(), np.float32) if self.weights is None else self.weights.cpu().numpy()
        shape = (self.num_nodes, self.num_nodes)
        adjacency = sp.csr_array((weights, self.neighbors.cpu().numpy(), self.row_start.cpu().numpy()), shape=shape)
        if self_loops == "remove":
            rows = self._row_of_entry.cpu().numpy()
            apart = ~self._is_loop.cpu().numpy()
            adjacency = sp.csr_array((weights[apart], (rows[apart], adjacency.indices[apart])), shape=shape)
        else:
            adjacency = with_loops(adjacency)
        kinds = {"duplicates": self.duplicates, "direction": self.direction, "edge_facts": self.edge_facts}
        return Graph._from_adjacency(adjacency, self.device, self_loops=self_loops, **kinds)

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the nodes, edges and weights. It does not depend on machine or device."""
        digest = hashlib.sha256()
        self.update_digest(digest)
        return digest.hexdigest()

    def update_digest(self, digest: Any) -> None:
        """Add the nodes, edges and weights to a :mod:`hashlib` digest."""
        direction = "" if self.is_undirected else f" {self.direction}"
        digest.update(f"{self.num_nodes} {self.self_loops}{direction}\n".encode())
        # First all first nodes, then all second ones, then the weights.
        for part in range(2):
            for ends, _ in self._entry_blocks(every=self.self_loops == "keep"):
                digest.update(ends[part].cpu().numpy().astype("<i8").tobytes())
        if self.weights is not None:
            for _, weights in self._entry_blocks(every=self.self_loops == "keep"):
                digest.update(weights.cpu().numpy().astype("<f8").tobytes())

    @cached_property
    def degree(self) -> Tensor:
        """Sum of the edge weights at each node, float64 ``[num_nodes]``, including self-loops."""
        if self.weights is None:
            return self.row_start.diff().double()
        return torch.zeros(self.num_nodes, dtype=torch.float64, device=self.device).index_add_(
            0, self._row_of_entry, self.weights.double()
        )

    @cached_property
    def isolated(self) -> Tensor:
        """Nodes without an edge to or from another node, bool ``[num_nodes]``."""
        if self.is_undirected and self.self_loops != "keep":
            return self.row_start.diff() == (1 if self.self_loops == "add" else 0)
        apart = ~self._is_loop
        reached = torch.zeros(self.num_nodes, dtype=torch.bool, device=self.device)
        reached[self._row_of_entry[apart]] = True
        if not self.is_undirected:
            reached[self.neighbors.long()[apart]] = True
        return ~reached

    @cached_property
    def _row_of_entry(self) -> Tensor:
        nodes = torch.arange(self.num_nodes, device=self.device)
        return torch.repeat_interleave(nodes, self.row_start.diff())

    @cached_property
    def _is_loop(self) -> Tensor:
        """Which entries of the compressed rows are self-loops."""
        return self._row_of_entry == self.neighbors

    @property
    def _num_loops(self) -> int:
        known = {"remove": 0, "add": self.num_nodes}.get(self.self_loops)
        return int(self._is_loop.sum()) if known is None else known

    def _entries(self) -> tuple[Tensor, Tensor]:
        """All entries of the adjacency: row and column, ``[2, entries]``, and weight."""
        weights = torch.ones(self.neighbors.numel(), device=self.device) if self.weights is None else self.weights
        return torch.stack([self._row_of_entry, self.neighbors.long()]), weights

    def edges(self) -> tuple[Tensor, Tensor]:
        """Each edge once, as ``edge_index`` ``[2, num_edges]``, and its weight. Self-loops are left out.

        The smaller node of an undirected edge comes first. A directed edge goes from the first node to the second.
        """
        blocks = list(self.edge_blocks())
        return torch.cat([ends for ends, _ in blocks], dim=1), torch.cat([weights for _, weights in blocks])

    def edge_blocks(self) -> Iterator[tuple[Tensor, Tensor]]:
        """What :meth:`edges` has, some at a time, so that no list of all of them is in memory; at least one block."""
        return self._entry_blocks(every=False)

    def _entry_blocks(self, every: bool) -> Iterator[tuple[Tensor, Tensor]]:
        """Entries of the adjacency in order, a few million at a time: every one of them, or each edge once."""
        first = 0
        while first < self.num_nodes:
            begin = self.row_start[first]
            last = int(torch.searchsorted(self.row_start, begin + _ENTRIES_AT_ONCE, right=True)) - 1
            last = min(max(last, first + 1), self.num_nodes)
            entries = slice(int(begin), int(self.row_start[last]))
            nodes = torch.arange(first, last, device=self.device)
            rows = torch.repeat_interleave(nodes, self.row_start[first : last + 1].diff())
            columns = self.neighbors[entries].long()
            weights = torch.ones(len(rows), device=self.device) if self.weights is None else self.weights[entries]
            first = last
            ends = torch.stack([rows, columns])
            if not every:
                once = rows < columns if self.is_undirected else rows != columns
                ends, weights = ends[:, once], weights[once]
                ends = ends.flip(0) if self.direction == "in" else ends
            yield ends, weights

    def adjacency(self, dtype: torch.dtype = torch.float32) -> Tensor:
        """The adjacency as a torch CSR tensor. Weights outside the range of ``dtype`` raise an error."""
        adjacency = self._weighted_rows.adjacency(dtype)
        values = adjacency.values()
        wrong = ~(torch.isfinite(values) & (values > 0))
        if wrong.any() and self.weights is not None:
            first = int(wrong.nonzero()[0])
            raise ValueError(
                f"the weight of edge {int(self._row_of_entry[first])} -> {int(self.neighbors[first])} is "
                f"{self.weights[first].item():.1e}, which is outside the range of {str(dtype)[6:]}: "
                "use adjacency(torch.float64)"
            )
        return adjacency

    def root_degree(self, dtype: torch.dtype) -> Tensor:
        r""":math:`\sqrt{d_v}`, and 1 for nodes of degree zero, so that it can be divided by."""
        return torch.where(self.degree > 0, self.degree, 1.0).sqrt().to(dtype)

    @cached_property
    def compressed_rows(self) -> CompressedRows:
        r"""The arrays passed to the kernels.

        They contain the weights unchanged. If degrees leave the range in which single precision is safe, they contain
        the entries of :math:`\mathbf{P}` with degrees of 1 instead. :math:`\mathbf{P}` is the same in both cases. The
        kernels rely on its symmetry.
        """
        self.require_undirected("this product with P")
        if self._has_ordinary_degrees:
            return self._weighted_rows
        ones = torch.ones(self.num_nodes, dtype=torch.float64, device=self.device)
        return CompressedRows(self.row_start, self.neighbors, self._normalised_weights, ones)

    @property
    def _weighted_rows(self) -> CompressedRows:
        return CompressedRows(self.row_start, self.neighbors, self.weights, self.root_degree(torch.float64))

    @cached_property
    def _has_ordinary_degrees(self) -> bool:
        if self.weights is None:
            return True
        low, high = _ORDINARY_DEGREES
        return bool(((self.degree == 0) | ((self.degree >= low) & (self.degree <= high))).all())

    @cached_property
    def _normalised_weights(self) -> Tensor:
        r"""The entries of :math:`\mathbf{P}` in double precision, for weights of any size.

        Each row is divided by its largest weight before it is summed, so that no degree over- or underflows.
        """
        rows, columns = self._row_of_entry, self.neighbors.long()
        weights = torch.ones_like(columns, dtype=torch.float64) if self.weights is None else self.weights.double()
        nothing = torch.zeros(self.num_nodes, dtype=torch.float64, device=self.device)
        peak = nothing.scatter_reduce(0, rows, weights, "amax")
        root = peak.sqrt()
        share = nothing.index_add(0, rows, weights / peak[rows]).sqrt()
        # Divide by the smaller root first: nothing overflows, and both directions of an edge round to the same value.
        smaller, larger = torch.minimum(root[rows], root[columns]), torch.maximum(root[rows], root[columns])
        return weights / smaller / larger / (share[rows] * share[columns])

    def propagate(self, x: Any, *, check_finite: bool = True) -> Tensor:
        r""":math:`\mathbf{P} x` for signals ``x`` of shape ``[num_nodes]`` or ``[num_nodes, channels]``.

        Differentiable with respect to a dense floating-point tensor.

        Args:
            x: The signals: a tensor, numpy array or scipy matrix, dense or sparse.
            check_finite: Whether to convert ``x`` and check it for NaN and infinity. If false, ``x`` must be a dense
                float32 or float64 tensor ``[num_nodes, channels]`` on the graph's device. This saves a pass over the
                signal in models that multiply at every hop.

        Example:
            >>> import torch
            >>> from unifilter import Graph
            >>> path = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]))
            >>> path.propagate(torch.tensor([1.0, 0.0, 0.0]))
            tensor([0.0000, 0.7071, 0.0000])
        """
        if not check_finite:
            self.check_signal(x)
            return propagate(self.compressed_rows, x)
        matrix = as_feature_matrix(x, self.num_nodes)
        # as_feature_matrix detaches its input. A tensor that needed no conversion is used itself, with its gradient.
        as_it_came = isinstance(x, Tensor) and x.layout == torch.strided and x.dtype == matrix.dtype
        dense = x.reshape(matrix.shape) if as_it_came else matrix.to_dense()
        propagated = propagate(self.to(dense.device).compressed_rows, dense)
        return propagated[:, 0] if np.ndim(x) == 1 else propagated

    def propagation_matrix(self, dtype: torch.dtype = torch.float32) -> Tensor:
        r""":math:`\mathbf{P}` as a torch CSR tensor, cached."""
        if dtype not in self._matrices:
            self._matrices[dtype] = self._compute_matrix(dtype)
        return self._matrices[dtype]

    def _compute_matrix(self, dtype: torch.dtype) -> Tensor:
        if not self.is_undirected:
            return self._directed_matrix(dtype)
        if not self._has_ordinary_degrees:
            return self.compressed_rows.adjacency(dtype)
        adjacency, root = self.adjacency(dtype), self.root_degree(dtype)
        columns, rows = adjacency.col_indices(), torch.repeat_interleave(root, self.row_start.diff())
        values = adjacency.values() / rows / root[columns]
        with without_torch_notices():
            return torch.sparse_csr_tensor(
                adjacency.crow_indices(), columns, values, adjacency.shape, check_invariants=False
            )

    def _directed_matrix(self, dtype: torch.dtype) -> Tensor:
        r""":math:`\mathbf{P}` of a directed graph. A node of degree zero receives no messages and sends none."""
        (rows, columns), weights = self._entries()
        root = self.degree.sqrt()
        scale = torch.where(root > 0, 1 / root, 0.0)
        values = (weights.double() * scale[rows] * scale[columns]).to(dtype)
        wrong = ~torch.isfinite(values)
        if wrong.any():
            first = int(wrong.nonzero()[0])
            raise ValueError(
                f"P has the entry {values[first].item()} for node {int(rows[first])} and its neighbor "
                f"{int(columns[first])}: the weights of this directed graph differ by too many orders of magnitude, "
                "rescale them"
            )
        with without_torch_notices():
            return torch.sparse_csr_tensor(
                self.row_start, columns, values, (self.num_nodes, self.num_nodes), check_invariants=False
            )

    def _check_degrees(self) -> None:
        wrong = ~torch.isfinite(self.degree)
        if wrong.any():
            raise ValueError(
                f"the weights at node {int(wrong.nonzero()[0])} add up to more than {np.finfo(np.float64).max:.1e}: "
                "divide all weights by the same number, which does not change P "
                f"({int(wrong.sum())} such nodes in all)"
            )

    def check_signal(self, x: Tensor) -> None:
        """Check that ``x`` is a dense floating-point signal ``[num_nodes, channels]`` on the graph's device."""
        if x.layout != torch.strided or x.ndim != 2 or x.dtype not in (torch.float32, torch.float64):
            layout = "" if x.layout == torch.strided else "sparse "
            raise ValueError(
                f"a signal must be a dense float32 or float64 tensor [num_nodes, channels], not {layout}{x.dtype} of "
                f"shape {list(x.shape)}: convert it with .to_dense() or .float(), add a missing axis with x[:, None]"
            )
        if x.shape[0] != self.num_nodes or x.shape[1] == 0:
            raise ValueError(
                f"a signal on this graph must have {self.num_nodes} rows and at least one column, not shape "
                f"{list(x.shape)}: pass one row per node"
            )
        if x.device != self.device:
            raise ValueError(f"the signal is on {x.device} and the graph on {self.device}: move it with .to()")
