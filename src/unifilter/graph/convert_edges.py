"""Convert an edge list larger than memory to a graph in a folder, with an external sort on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, get_args

import numpy as np

from unifilter._internal.array_files import ArrayWriter, array_writer, told_of_full_disks, write_array
from unifilter._internal.checks import check_choice, check_count
from unifilter._internal.files import whole_folder
from unifilter._internal.memory import check_limit, resident_bytes, said_bytes
from unifilter.graph.adjacency import Duplicates, SelfLoops
from unifilter.graph.edge_facts import EdgeFacts
from unifilter.graph.graph import Graph
from unifilter.graph.graph_folder import (
    NEIGHBORS,
    NODE_OF_ROW,
    ROW_OF_NODE,
    ROW_START,
    WEIGHTS,
    mapped_graph,
    write_graph_manifest,
)
from unifilter.graph.node_order import NodeOrder, by_cuthill_mckee, by_degree, check_room, check_room_for_rcm
from unifilter.graph.propagation import check_degrees

# Node ids are stored in 32 bits.
_MOST_NODES = 2**31 - 1
# Maximum number of files open for writing; systems allow 1024 or more.
_MOST_PARTS = 400
# Nodes per bin. Files are divided at the boundaries of bins.
_NODES_PER_BIN = 256
# Bytes to sort an edge: its key, the order, and the copies of both that numpy makes.
_BYTES_PER_KEY, _BYTES_PER_WEIGHTED_KEY = 40, 88
# Number of edges that are read back at once.
_EDGES_AT_ONCE = 1 << 20

# Called with the name of the current step and its finished share.
OnProgress = Callable[[str, float], object]


class EdgeBlock(NamedTuple):
    """Some lines of an edge list.

    Attributes:
        source, target: Node ids.
        weight: One non-negative number per edge; ``None`` for an edge list without weights.
    """

    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None = None


def convert_edges(
    blocks: Iterable[EdgeBlock],
    folder: str | os.PathLike[str],
    *,
    num_nodes: int | None = None,
    self_loops: SelfLoops = "remove",
    duplicates: Duplicates = "sum",
    order: NodeOrder | None = None,
    memory_limit: str | int = "2GB",
    on_progress: OnProgress | None = None,
) -> Graph:
    """Write an undirected graph to a new folder; the rules are those of :meth:`unifilter.Graph.from_edges`.

    Edges are divided among files by their nodes, and each file is then sorted in memory. During the conversion the disk
    holds the edges three times.

    Args:
        blocks: The edge list, some lines at a time, such as :func:`unifilter.datasets.read_edge_blocks` gives.
        folder: Folder to create.
        num_nodes: Number of nodes. Default: one more than the largest id.
        self_loops: ``"remove"`` them, ``"add"`` one of weight 1 to every node instead, or ``"keep"`` those listed.
        duplicates: How the weights of an edge listed twice in one direction merge, ``"sum"`` or ``"max"``.
        order: Order in which the rows are stored, for faster products: ``"degree"`` puts nodes with many edges first;
            ``"rcm"``, reverse Cuthill-McKee, puts neighbors close together, and needs all edges in memory once. Node
            ids do not change, and results are the same up to rounding. Default: the order of the nodes.
        memory_limit: Memory that this process may use, such as ``"4GB"``.
        on_progress: Function that is called with the name of the current step and its finished share.

    Returns:
        The opened graph.
    """
    check_choice("self_loops", self_loops, get_args(SelfLoops))
    check_choice("duplicates", duplicates, get_args(Duplicates))
    if order is not None:
        check_choice("order", order, get_args(NodeOrder))
    if num_nodes is not None:
        check_count("num_nodes", num_nodes, "pass the number of nodes, or leave it out")
    limit = check_limit(memory_limit)
    said = on_progress or (lambda *_: None)
    with told_of_full_disks(Path(folder).absolute().parent), whole_folder(folder) as part:
        counts = _Counts(1 if order else _NODES_PER_BIN)
        listed = _spill(blocks, part / "listed.bin", num_nodes, self_loops == "keep", counts, said)
        if order is not None:
            said("order", 0.0)
            listed = _ordered(listed, order, limit)
        bounds = _divide(listed, limit)
        with ExitStack() as stack:
            parts: list[BinaryIO] = [
                stack.enter_context((part / f"part-{i}.bin").open("w+b")) for i in range(len(bounds) - 1)
            ]
            _distribute(listed, bounds, parts, said)
            listed.path.unlink()
            sorter = _Sorter(listed, self_loops == "add", duplicates)
            files = sorter.write(part, bounds, parts, said)
            for name, array in ((NODE_OF_ROW, listed.node_of_row), (ROW_OF_NODE, listed.row_of_node)):
                if array is not None:
                    files[name] = write_array(part / name, array)
        for index in range(len(parts)):
            (part / f"part-{index}.bin").unlink()
        graph = mapped_graph(part, files, False, self_loops, duplicates)
        graph.edge_facts = sorter.facts()
        if WEIGHTS in files:
            check_degrees(graph)
        said("checksum", 0.0)
        write_graph_manifest(part, graph, files)
    return Graph.open(folder, verify=False)


class _Listed(NamedTuple):
    """The checked edge list in a file."""

    path: Path
    entry: np.dtype[Any]
    given: int
    loops: int
    num_nodes: int
    # Number of entries of the adjacency matrix in each bin of nodes; of each node before they are put into an order.
    entries: np.ndarray
    # The node of each row and the row of each node, if rows have another order than the nodes.
    node_of_row: np.ndarray | None = None
    row_of_node: np.ndarray | None = None


class _Counts:
    """Counts entries of the adjacency matrix by bins of nodes, for as many nodes as come."""

    def __init__(self, nodes_per_bin: int) -> None:
        self.nodes_per_bin = nodes_per_bin
        self.entries = np.zeros(1, dtype=np.int64)

    def add(self, ids: np.ndarray) -> None:
        if len(ids):
            bins = ids // self.nodes_per_bin
            missing = int(bins.max()) + 1 - len(self.entries)
            if missing > 0:
                self.entries = np.concatenate([self.entries, np.zeros(missing + len(self.entries), np.int64)])
            np.add.at(self.entries, bins, 1)


def _spill(
    blocks: Iterable[EdgeBlock],
    path: Path,
    num_nodes: int | None,
    keep_loops: bool,
    counts: _Counts,
    said: OnProgress,
) -> _Listed:
    """Check every edge and write it to a file that is fast to read."""
    given = loops = 0
    largest = -1
    weight_type: Any = ...
    entry = np.dtype([("source", "<i4"), ("target", "<i4")])
    with path.open("wb") as file:
        for source, target, weight in blocks:
            source, target = (_checked_ids(ids, given, num_nodes) for ids in (source, target))
            found = None if weight is None else weight.dtype if weight.dtype == np.float64 else np.dtype(np.float32)
            if weight_type is ...:
                weight_type = found
                if found is not None:
                    entry = np.dtype([*entry.descr, ("weight", found.str)])
            if (found is None) != (weight_type is None) or len(source) != len(target):
                raise ValueError("every part of an edge list has as many sources as targets, and weights or none")
            if weight is not None:
                _check_weights(weight, source, target, given)
            if len(source):
                largest = max(largest, int(source.max()), int(target.max()))
            kept = np.ones(len(source), dtype=bool) if keep_loops else source != target
            loops += int((source == target).sum())
            kept = kept if weight is None else kept & (weight > 0)
            given += len(source)
            record = np.empty(int(kept.sum()), entry)
            record["source"], record["target"] = source[kept], target[kept]
            if weight is not None:
                record["weight"] = weight[kept]
            for ids in (record["source"], record["target"]):
                counts.add(ids)
            file.write(record.tobytes())
            said(f"read {given:,} edges", 0.0)
    nodes = largest + 1 if num_nodes is None else num_nodes
    if nodes == 0:
        raise ValueError("the graph is empty: it needs at least one node, pass num_nodes or at least one edge")
    entries = counts.entries[: -(-nodes // counts.nodes_per_bin)]
    return _Listed(path, entry, given, loops, nodes, entries)


def _ordered(listed: _Listed, kind: NodeOrder, limit: int) -> _Listed:
    """The edge list with an order of its nodes."""
    check_room(listed.num_nodes, limit)
    degree = np.zeros(listed.num_nodes, dtype=np.int64)
    degree[: len(listed.entries)] = listed.entries
    if kind == "degree":
        order = by_degree(degree)
    else:
        edges = listed.path.stat().st_size // listed.entry.itemsize
        check_room_for_rcm(listed.num_nodes, edges, limit)
        ends = np.fromfile(listed.path, listed.entry)
        source, target = ends["source"].copy(), ends["target"].copy()
        del ends
        order = by_cuthill_mckee(source, target, listed.num_nodes)
    in_bins = np.add.reduceat(degree[order], np.arange(0, listed.num_nodes, _NODES_PER_BIN))
    rows = np.empty_like(order)
    rows[order] = np.arange(listed.num_nodes)
    return listed._replace(entries=in_bins, node_of_row=order, row_of_node=rows)


def _checked_ids(ids: np.ndarray, given: int, num_nodes: int | None) -> np.ndarray:
    if ids.ndim != 1 or (ids.size and not np.issubdtype(ids.dtype, np.integer)):
        raise ValueError(
            f"node ids must be whole numbers, one per edge, not {ids.dtype}: number the nodes 0, 1, 2, ..."
        )
    wrong = (ids < 0) | (ids >= (_MOST_NODES if num_nodes is None else num_nodes))
    if wrong.any():
        first = int(wrong.argmax())
        last = (_MOST_NODES if num_nodes is None else num_nodes) - 1
        raise ValueError(
            f"edge {given + first} names the node {ids[first]}, which does not exist: nodes are 0 to {last:,}; pass a "
            "larger num_nodes, or number the nodes 0, 1, 2, ..."
        )
    return ids


def _check_weights(weight: np.ndarray, source: np.ndarray, target: np.ndarray, given: int) -> None:
    wrong = ~(np.isfinite(weight) & (weight >= 0))
    if weight.shape != source.shape or wrong.any():
        first = int(wrong.argmax()) if wrong.any() else 0
        raise ValueError(
            f"the weight of edge {given + first} ({source[first]} -> {target[first]}) is {weight[first]}: weights are "
            "finite and not negative, one for each edge"
        )


def _divide(listed: _Listed, limit: int) -> np.ndarray:
    """Start of each range of nodes whose edges can be sorted in memory."""
    weighted = "weight" in (listed.entry.names or ())
    size = _BYTES_PER_WEIGHTED_KEY if weighted else _BYTES_PER_KEY
    bins = -(-listed.num_nodes // _NODES_PER_BIN)
    entries = np.zeros(bins, dtype=np.int64)
    entries[: min(bins, len(listed.entries))] = listed.entries[:bins]
    # An added self-loop is an entry too.
    entries += _NODES_PER_BIN
    # Memory besides the sort: the edges that are read at once, and the bins.
    beside = resident_bytes() + 4 * size * _EDGES_AT_ONCE + 32 * bins
    least = max(int(entries.max()), int(entries.sum()) // _MOST_PARTS) * size
    if limit - beside < least:
        raise ValueError(
            f"sorting {listed.given:,} edges needs at least {said_bytes(beside + least)} of memory, and "
            f"memory_limit is {said_bytes(limit)}: raise it"
        )
    room, bounds, here = (limit - beside) // size, [0], 0
    for index, count in enumerate(entries.tolist()):
        if here and here + count > room:
            bounds.append(index * _NODES_PER_BIN)
            here = 0
        here += count
    return np.array([*bounds, listed.num_nodes], dtype=np.int64)


def _distribute(listed: _Listed, bounds: np.ndarray, parts: list[BinaryIO], said: OnProgress) -> None:
    """Write both directions of every edge to the file of its row node."""
    weighted = "weight" in (listed.entry.names or ())
    pair = _key_type(listed)
    done = 0
    with listed.path.open("rb") as file:
        while block := file.read(_EDGES_AT_ONCE * listed.entry.itemsize):
            edges = np.frombuffer(block, listed.entry)
            source, target = edges["source"], edges["target"]
            if listed.row_of_node is not None:
                source, target = listed.row_of_node[source], listed.row_of_node[target]
            for backward in (False, True):
                row, column = (target, source) if backward else (source, target)
                chosen = row != column if backward else slice(None)  # a self-loop has one direction
                row, column = row[chosen], column[chosen]
                part = np.searchsorted(bounds, row, side="right") - 1
                keys = (row - bounds[part]).astype(np.uint64) * np.uint64(listed.num_nodes) + column.astype(np.uint64)
                records = np.empty(len(keys), pair)
                records["key"] = 2 * keys + np.uint64(backward)
                if weighted:
                    records["weight"] = edges["weight"][chosen]
                order = np.argsort(part, kind="stable")
                records, ends = records[order], np.searchsorted(part[order], np.arange(len(parts) + 1))
                for index in np.flatnonzero(np.diff(ends)):
                    parts[index].write(records[ends[index] : ends[index + 1]].tobytes())
            done += len(edges)
            said("divide", done / max(listed.given, 1))


def _key_type(listed: _Listed) -> np.dtype[Any]:
    fields: list[Any] = [("key", "<u8")]
    if "weight" in (listed.entry.names or ()):
        fields.append(("weight", listed.entry["weight"].str))
    return np.dtype(fields)


class _Sorter:
    """Sorts and merges the edges of each range of nodes, and writes the rows range by range."""

    def __init__(self, listed: _Listed, add_loops: bool, duplicates: Duplicates) -> None:
        self.listed, self.add_loops, self.duplicates = listed, add_loops, duplicates
        self.one_directional = self.merged = self.entries = 0
        self.weighted = False

    def facts(self) -> EdgeFacts:
        return EdgeFacts(self.listed.given, self.one_directional, self.merged, self.listed.loops, self.weighted)

    def write(self, folder: Path, bounds: np.ndarray, parts: list[BinaryIO], said: OnProgress) -> dict[str, Any]:
        files = {}
        names = self.listed.entry.names or ()
        with ExitStack() as stack:
            starts = stack.enter_context(array_writer(folder / ROW_START, np.int64))
            neighbors = stack.enter_context(array_writer(folder / NEIGHBORS, np.int32))
            weights = None
            if "weight" in names:
                weights = stack.enter_context(array_writer(folder / WEIGHTS, self.listed.entry["weight"]))
            starts.write(np.zeros(1, np.int64))
            for index, file in enumerate(parts):
                self._write_range(file, int(bounds[index]), int(bounds[index + 1]), starts, neighbors, weights)
                said("sort", (index + 1) / len(parts))
            files = {ROW_START: starts.finish(), NEIGHBORS: neighbors.finish()}
            if weights is not None:
                files[WEIGHTS] = weights.finish()
        if weights is not None and not self.weighted:
            (folder / WEIGHTS).unlink()
            del files[WEIGHTS]
        return files

    def _write_range(
        self,
        file: BinaryIO,
        first: int,
        last: int,
        starts: ArrayWriter,
        neighbors: ArrayWriter,
        weights: ArrayWriter | None,
    ) -> None:
        file.seek(0)
        records = np.fromfile(file, _key_type(self.listed))
        keys, values = records["key"].copy(), None if weights is None else records["weight"].astype(np.float64)
        del records
        if values is None:
            keys.sort()
        else:
            order = np.argsort(keys, kind="stable")
            keys, values = keys[order], values[order]
            del order
        listed = int((keys & np.uint64(1) == 0).sum())
        keys, values = _merge(keys, values, self.duplicates)
        listed_once = int((keys & np.uint64(1) == 0).sum())
        keys >>= np.uint64(1)
        keys, values = _merge(keys, values, "max")
        self.merged += listed - listed_once
        self.one_directional += len(keys) - listed_once
        if self.add_loops:
            loops = np.arange(last - first, dtype=np.uint64) * np.uint64(self.listed.num_nodes)
            loops += np.arange(first, last, dtype=np.uint64)
            keys = np.concatenate([keys, loops])
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            values = None if values is None else np.concatenate([values, np.ones(len(loops))])[order]
        rows, columns = np.divmod(keys, np.uint64(self.listed.num_nodes))
        starts.write(self.entries + np.cumsum(np.bincount(rows.astype(np.int64), minlength=last - first)))
        self.entries += len(keys)
        neighbors.write(columns.astype(np.int32))
        if weights is not None and values is not None:
            with np.errstate(over="ignore"):
                stored = values.astype(weights.dtype)
            if not np.isfinite(stored).all():
                wrong = int((~np.isfinite(stored)).argmax())
                ends = [first + int(rows[wrong]), int(columns[wrong])]
                if self.listed.node_of_row is not None:
                    ends = self.listed.node_of_row[ends].tolist()
                raise ValueError(
                    f"the weights of edge {ends[0]} -> {ends[1]}, which is listed more than once, add up to more than "
                    f"{np.finfo(weights.dtype).max:.1e}: pass float64 weights, or divide all by the same number, which "
                    "does not change P"
                )
            self.weighted |= bool((stored != 1).any())
            weights.write(stored)


def _merge(keys: np.ndarray, values: np.ndarray | None, how: Duplicates) -> tuple[np.ndarray, np.ndarray | None]:
    """Merge equal keys; the keys are sorted."""
    if len(keys) == 0:
        return keys, values
    first = np.r_[True, keys[1:] != keys[:-1]]
    if values is not None:
        combine = np.add if how == "sum" else np.maximum
        values = combine.reduceat(values, np.flatnonzero(first))
    return keys[first], values
