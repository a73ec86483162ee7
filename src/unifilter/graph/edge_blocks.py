"""The edges of a graph, some at a time, so that no list of all of them is in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from unifilter.graph.graph import Graph

# How many entries of the adjacency are looked at together: little beside the graph.
ENTRIES_AT_ONCE = 1 << 22


def entry_blocks(graph: Graph) -> Iterator[tuple[Tensor, Tensor]]:
    """All entries of the adjacency in order: rows and columns ``[2, entries]``, and weights; at least one block."""
    first = 0
    while first < graph.num_nodes:
        begin = graph.row_start[first]
        last = int(torch.searchsorted(graph.row_start, begin + ENTRIES_AT_ONCE, right=True)) - 1
        last = min(max(last, first + 1), graph.num_nodes)
        entries = slice(int(begin), int(graph.row_start[last]))
        nodes = torch.arange(first, last, device=graph.device)
        rows = torch.repeat_interleave(nodes, graph.row_start[first : last + 1].diff())
        columns = graph.neighbors[entries].long()
        weights = torch.ones(len(rows), device=graph.device) if graph.weights is None else graph.weights[entries]
        first = last
        yield torch.stack([rows, columns]), weights


def edge_blocks(graph: Graph) -> Iterator[tuple[Tensor, Tensor]]:
    """See :meth:`unifilter.Graph.edge_blocks`."""
    for ends, weights in entry_blocks(graph):
        rows, columns = ends
        once = rows < columns if graph.is_undirected else rows != columns
        yield ends[:, once].flip(0) if graph.direction == "in" else ends[:, once], weights[once]


def update_digest(graph: Graph, digest: Any) -> None:
    """See :meth:`unifilter.Graph.update_digest`."""
    direction = "" if graph.is_undirected else f" {graph.direction}"
    digest.update(f"{graph.num_nodes} {graph.self_loops}{direction}\n".encode())
    blocks = entry_blocks if graph.self_loops == "keep" else edge_blocks
    # First all first nodes, then all second ones, then the weights.
    for part in range(2):
        for ends, _ in blocks(graph):
            digest.update(ends[part].cpu().numpy().astype("<i8").tobytes())
    if graph.weights is not None:
        for _, weights in blocks(graph):
            digest.update(weights.cpu().numpy().astype("<f8").tobytes())
