"""A graph in a folder: memory-mapped .npy files, and a manifest with their checksums."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.array_files import open_array, read_manifest, write_array, write_manifest
from unifilter._internal.checks import without_torch_notices
from unifilter._internal.files import whole_folder
from unifilter.graph.edge_facts import EdgeFacts
from unifilter.graph.graph import Graph
from unifilter.graph.reordered_graph import ReorderedGraph

MANIFEST = "graph.json"
ROW_START, NEIGHBORS, WEIGHTS = "row_start.npy", "neighbors.npy", "weights.npy"
NODE_OF_ROW, ROW_OF_NODE = "node_of_row.npy", "row_of_node.npy"
# Increase these when the file format changes. Folders of another format are refused. The first one is without an order
# of the rows, and versions that know no order read it.
FORMAT, ORDERED_FORMAT = 1, 2
_ENTRIES_AT_ONCE = 1 << 22


def save_graph(graph: Graph, folder: Path) -> None:
    """See :meth:`unifilter.Graph.save`."""
    with whole_folder(folder) as part:
        rows = graph.stored if isinstance(graph, ReorderedGraph) else graph
        arrays = {ROW_START: rows.row_start, NEIGHBORS: rows.neighbors, WEIGHTS: rows.weights}
        if isinstance(graph, ReorderedGraph):
            arrays |= {NODE_OF_ROW: graph.node_of_row, ROW_OF_NODE: graph.row_of_node}
        files = {
            name: write_array(part / name, array.cpu().numpy()) for name, array in arrays.items() if array is not None
        }
        write_graph_manifest(part, graph, files)


def write_graph_manifest(folder: Path, graph: Graph, files: dict[str, Any]) -> None:
    """Write the manifest that turns arrays in a folder into a graph.

    Args:
        folder: The folder.
        graph: Graph of the arrays.
        files: Records of the written arrays, by file name.
    """
    facts = graph.edge_facts
    content = {
        "format": ORDERED_FORMAT if NODE_OF_ROW in files else FORMAT,
        "self_loops": graph.self_loops,
        "duplicates": graph.duplicates,
        "direction": graph.direction,
        "edge_facts": None if facts is None else dataclasses.asdict(facts),
        "checksum": graph.checksum,
        "files": files,
    }
    write_manifest(folder / MANIFEST, content)


def open_graph(folder: Path, *, verify: bool) -> Graph:
    """See :meth:`unifilter.Graph.open`."""
    if not (folder / MANIFEST).is_file():
        raise FileNotFoundError(f"{folder} is not the folder of a graph (it has no {MANIFEST}): check the path")
    content = read_manifest(folder / MANIFEST)
    if content.get("format") not in (FORMAT, ORDERED_FORMAT):
        raise ValueError(
            f"{folder} has the format {content.get('format')}, and this version reads {FORMAT} and {ORDERED_FORMAT}: "
            "convert the edges again"
        )
    graph = mapped_graph(folder, content["files"], verify, content["self_loops"], content["duplicates"])
    graph.direction = content["direction"]
    facts = content["edge_facts"]
    graph.edge_facts = None if facts is None else EdgeFacts(**facts)
    if verify:
        _check_structure(folder, graph.stored if isinstance(graph, ReorderedGraph) else graph)
        if isinstance(graph, ReorderedGraph):
            _check_order(folder, graph)
    # The digest of the graph, whose files are verified by their checksums.
    graph.__dict__["checksum"] = content["checksum"]
    return graph


def mapped_graph(folder: Path, files: dict[str, Any], verify: bool, self_loops: Any, duplicates: Any) -> Graph:
    """The graph with its arrays mapped from a folder."""

    def mapped(name: str) -> Tensor:
        with without_torch_notices():
            return torch.from_numpy(open_array(folder / name, files[name], verify=verify))

    graph = Graph(
        mapped(ROW_START),
        mapped(NEIGHBORS),
        mapped(WEIGHTS) if WEIGHTS in files else None,
        self_loops=self_loops,
        duplicates=duplicates,
    )
    graph.folder = folder
    return ReorderedGraph(graph, mapped(NODE_OF_ROW), mapped(ROW_OF_NODE)) if NODE_OF_ROW in files else graph


def _check_order(folder: Path, graph: ReorderedGraph) -> None:
    """Check that every row has a node, and every node that row."""
    nodes, rows = graph.node_of_row.numpy(), graph.row_of_node.numpy()
    count = graph.stored.num_nodes
    fits = nodes.dtype == rows.dtype == np.int64 and nodes.shape == rows.shape == (count,)
    for first in range(0, count if fits else 0, _ENTRIES_AT_ONCE):
        some = nodes[first : first + _ENTRIES_AT_ONCE]
        fits = fits and bool(some.min() >= 0) and bool(some.max() < count)
        fits = fits and np.array_equal(rows[some], np.arange(first, first + len(some)))
    if not fits:
        raise ValueError(f"{folder} holds no graph: the order of its rows is not one of the nodes; convert again")


def _check_structure(folder: Path, graph: Graph) -> None:
    """Check that all indices are valid, because the kernels use them without bounds checks."""
    starts, neighbors = graph.row_start.numpy(), graph.neighbors.numpy()
    fits = (
        starts.dtype == np.int64
        and neighbors.dtype == np.int32
        and starts.ndim == neighbors.ndim == 1
        and len(starts) > 1
        and starts[0] == 0
        and starts[-1] == len(neighbors)
        and (graph.weights is None or graph.weights.shape == graph.neighbors.shape)
    )
    for first in range(0, len(starts) - 1, _ENTRIES_AT_ONCE):
        fits = fits and bool((np.diff(starts[first : first + _ENTRIES_AT_ONCE + 1]) >= 0).all())
    for first in range(0, len(neighbors) if fits else 0, _ENTRIES_AT_ONCE):
        some = neighbors[first : first + _ENTRIES_AT_ONCE]
        fits = fits and bool(some.min() >= 0) and bool(some.max() < len(starts) - 1)
    if not fits:
        raise ValueError(f"{folder} holds no graph: its rows lead to nodes that do not exist; convert the edges again")
