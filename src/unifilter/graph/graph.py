"""The graph and its propagation matrix: the first stage, and the only one that sees edges."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from unifilter._internal.checks import check_choice, check_edge_weight, check_edges
from unifilter.graph import edge_blocks, propagation
from unifilter.graph.adjacency import Direction, Duplicates, SelfLoops, adjacency_of_edges, with_loops, without_loops
from unifilter.graph.edge_facts import EdgeFacts
from unifilter.graph.edge_lists import edges_of_data, edges_of_networkx, edges_of_scipy
from unifilter.kernels.compressed_rows import CompressedRows

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data


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
        adjacency, facts = adjacency_of_edges(source, target, weight, nodes, duplicates, self_loops, direction)
        return cls._from_adjacency(
            adjacency,
            edge_index.device if isinstance(edge_index, Tensor) else torch.device("cpu"),
            self_loops=self_loops,
            duplicates=duplicates,
            direction=direction,
            edge_facts=facts,
        )

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
            propagation.check_degrees(graph)
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
        return cls.from_edges(
            *edges_of_scipy(adjacency),
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
        return cls.from_edges(
            *edges_of_networkx(graph, weight, direction),
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
        return cls.from_edges(
            *edges_of_data(data),
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
    def num_entries(self) -> int:
        """Number of entries of the adjacency."""
        return self.neighbors.numel()

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
        entries = self.num_entries - self._num_loops
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
        entries = weights, self.neighbors.cpu().numpy(), self.row_start.cpu().numpy()
        adjacency = sp.csr_array(entries, shape=(self.num_nodes, self.num_nodes))
        adjacency = without_loops(adjacency) if self_loops == "remove" else with_loops(adjacency)
        kinds = {"duplicates": self.duplicates, "direction": self.direction, "edge_facts": self.edge_facts}
        return Graph._from_adjacency(adjacency, self.device, self_loops=self_loops, **kinds)

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the nodes, edges and weights, and of their order in a folder if it was chosen in the conversion.

        It does not depend on machine or device.
        """
        digest = hashlib.sha256()
        self.update_digest(digest)
        return digest.hexdigest()

    def update_digest(self, digest: Any) -> None:
        """Add the nodes, edges and weights to a :mod:`hashlib` digest."""
        edge_blocks.update_digest(self, digest)

    @cached_property
    def degree(self) -> Tensor:
        """Sum of the edge weights at each node, float64 ``[num_nodes]``, including self-loops."""
        if self.weights is None:
            return self.row_start.diff().double()
        return torch.zeros(self.num_nodes, dtype=torch.float64, device=self.device).index_add_(
            0, self.row_of_entry, self.weights.double()
        )

    @cached_property
    def isolated(self) -> Tensor:
        """Nodes without an edge to or from another node, bool ``[num_nodes]``."""
        if self.is_undirected and self.self_loops != "keep":
            return self.row_start.diff() == (1 if self.self_loops == "add" else 0)
        apart = ~self._is_loop
        reached = torch.zeros(self.num_nodes, dtype=torch.bool, device=self.device)
        reached[self.row_of_entry[apart]] = True
        if not self.is_undirected:
            reached[self.neighbors.long()[apart]] = True
        return ~reached

    @cached_property
    def row_of_entry(self) -> Tensor:
        """The row of each entry of ``neighbors``."""
        nodes = torch.arange(self.num_nodes, device=self.device)
        return torch.repeat_interleave(nodes, self.row_start.diff())

    @cached_property
    def _is_loop(self) -> Tensor:
        """Which entries of the compressed rows are self-loops."""
        return self.row_of_entry == self.neighbors

    @property
    def _num_loops(self) -> int:
        known = {"remove": 0, "add": self.num_nodes}.get(self.self_loops)
        return int(self._is_loop.sum()) if known is None else known

    def edges(self) -> tuple[Tensor, Tensor]:
        """Each edge once, as ``edge_index`` ``[2, num_edges]``, and its weight. Self-loops are left out.

        The smaller node of an undirected edge comes first. A directed edge goes from the first node to the second.
        """
        blocks = list(self.edge_blocks())
        return torch.cat([ends for ends, _ in blocks], dim=1), torch.cat([weights for _, weights in blocks])

    def edge_blocks(self) -> Iterator[tuple[Tensor, Tensor]]:
        """What :meth:`edges` has, some at a time, so that no list of all of them is in memory; at least one block."""
        return edge_blocks.edge_blocks(self)

    def adjacency(self, dtype: torch.dtype = torch.float32) -> Tensor:
        """The adjacency as a torch CSR tensor. Weights outside the range of ``dtype`` raise an error."""
        return propagation.adjacency_matrix(self, dtype)

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
        return propagation.compressed_rows(self)

    @property
    def stored_rows(self) -> CompressedRows:
        """As :attr:`compressed_rows`, in the order in which the rows are stored: the faster one for products.

        Signals come in by :meth:`in_stored_order` and results go out by :meth:`in_node_order`. Only a folder that was
        converted with an ``order`` stores rows in another order than that of the nodes.
        """
        return self.compressed_rows

    def in_stored_order(self, x: Tensor) -> Tensor:
        """A signal ``[num_nodes, channels]``, dense or CSC, in the order of :attr:`stored_rows`."""
        return x

    def in_node_order(self, x: Tensor, out: Tensor | None = None) -> Tensor:
        """A dense array in the order of :attr:`stored_rows` along its first axis, in the order of the nodes.

        It is written to ``out`` if that is given and the order changes; without a change it is the array itself.
        """
        return x

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
        return propagation.propagate_signal(self, x, check_finite=check_finite)

    def propagation_matrix(self, dtype: torch.dtype = torch.float32) -> Tensor:
        r""":math:`\mathbf{P}` as a torch CSR tensor, cached."""
        if dtype not in self._matrices:
            self._matrices[dtype] = propagation.propagation_matrix(self, dtype)
        return self._matrices[dtype]

    def check_signal(self, x: Tensor) -> None:
        """Check that ``x`` is a dense floating-point signal ``[num_nodes, channels]`` on the graph's device."""
        propagation.check_signal(self, x)
