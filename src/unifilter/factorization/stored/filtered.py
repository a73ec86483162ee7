"""Filtered features, some columns at a time, where the vectors of all columns do not fit into memory.

A learned filter is linear, so each block of columns is filtered alone and written to disk, and the rows are read from
there.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.array_files import CHUNK_BYTES, array_writer, read_part
from unifilter._internal.memory import said_bytes
from unifilter._internal.scratch import scratch_folder
from unifilter.bases import Tridiagonal
from unifilter.factorization.recurrence import apply_recurrence
from unifilter.factorization.stored.block import compute_block
from unifilter.factorization.stored.feature_columns import FeatureColumns, feature_columns
from unifilter.factorization.stored.layout import column_blocks
from unifilter.factorization.stored.stored_factorization import StoredFactorization
from unifilter.graph import Graph
from unifilter.kernels.combine import combine

# Arrays of the size of a block that the recurrence holds at once: features, result, sum, three vectors, and copies.
_VECTORS = 12
# Bytes per node for degrees and their roots.
_BYTES_PER_NODE = 40
# Columns of a cache line, which a product moves whole, and of the widest block that is faster than narrower ones.
_LINE_BYTES, _WIDEST = 64, 256


def filtered_rows(fact: StoredFactorization, graph: Graph, x: Any, weights: Tensor) -> Iterator[Tensor]:
    """The filtered features of all nodes in order, some rows at a time, ``[rows, channels]``.

    Each block of vectors is computed again, summed with its weights, and discarded.

    Args:
        fact: Store of this graph and these features, with all vectors or the rows of some nodes.
        graph: The graph.
        x: The features.
        weights: Weights on the Lanczos vectors, ``[hops + 1, channels]``.
    """
    columns = feature_columns(x, graph.num_nodes)

    def block(start: int, stop: int) -> Tensor:
        vectors = compute_block(graph, columns, fact.key, (start, stop))[0]
        return combine(vectors[: fact.hops + 1], weights[None, :, start:stop])[0]

    spans = [(start, stop) for start, stop in (one["columns"] for one in fact.blocks)]
    yield from _rows(block, spans, columns, fact.folder)


def filtered_rows_elsewhere(
    graph: Graph, columns: FeatureColumns, tridiagonal: Tridiagonal, weights: Tensor, room: int, folder: Path
) -> Iterator[Tensor]:
    """What :func:`unifilter.factorization.apply_recurrence` gives, some rows at a time.

    Args:
        graph: Any graph.
        columns: Its features.
        tridiagonal: The recurrence of the learned filter.
        weights: Its weights, ``[hops + 1, channels]``.
        room: Bytes of memory for this.
        folder: Folder for a temporary file.
    """
    nodes, channels = columns.shape
    width = _width(columns, room)
    if width < channels:
        needed, free = nodes * channels * columns.dtype.itemsize, shutil.disk_usage(folder).free
        if needed > free:
            raise ValueError(
                f"the filtered features of {nodes:,} nodes need {said_bytes(needed)} on the disk of {folder}, which "
                f"has {said_bytes(free)}: make room, or set UNIFILTER_STORE to a folder on another disk"
            )

    def block(start: int, stop: int) -> Tensor:
        some = slice(start, stop)
        return apply_recurrence(graph, columns.block(start, stop), tridiagonal.select(some), weights[:, some])

    yield from _rows(block, column_blocks(channels, width), columns, folder)


def _width(columns: FeatureColumns, room: int) -> int:
    """Number of columns that are filtered together."""
    (nodes, channels), size = columns.shape, columns.dtype.itemsize
    beside, each = _BYTES_PER_NODE * nodes, _VECTORS * nodes * size
    most = (room - beside) // each
    if most < 1:
        raise ValueError(
            f"filtering a single feature column on {nodes:,} nodes needs {said_bytes(beside + each)} of memory, and "
            f"memory_limit leaves {said_bytes(max(room, 0))}: raise it by the difference at least"
        )
    line = _LINE_BYTES // size
    return int(min(channels, most // line * line if most >= line else most, _WIDEST))


def _rows(
    block: Callable[[int, int], Tensor], spans: Sequence[tuple[int, int]], columns: FeatureColumns, folder: Path
) -> Iterator[Tensor]:
    """The rows of a matrix that is computed in blocks of columns."""
    (nodes, channels), dtype = columns.shape, columns.dtype
    at_once = max(1, CHUNK_BYTES // (channels * dtype.itemsize))
    if len(spans) == 1:
        yield from torch.split(block(*spans[0]), at_once)
        return
    with scratch_folder(folder) as scratch, ExitStack() as stack:
        files, records = [], []
        for index, (start, stop) in enumerate(spans):
            path = scratch / f"{index}.npy"
            with array_writer(path, np.dtype(str(dtype)[6:]), (stop - start,)) as writer:
                writer.write(block(start, stop).numpy())
                records.append(writer.finish())
            files.append(stack.enter_context(path.open("rb", buffering=0)))
        for first in range(0, nodes, at_once):
            count = min(at_once, nodes - first)
            part = torch.empty(count, channels, dtype=dtype)
            for (start, stop), file, record in zip(spans, files, records, strict=True):
                buffer = np.empty((count, stop - start), record["dtype"])
                read_part(file, {**record, "shape": [1, *record["shape"]]}, 0, first, buffer)
                part[:, start:stop] = torch.from_numpy(buffer)
            yield part


def in_parts(forward: Callable[[Tensor], Tensor], nodes: Tensor, rows: int) -> Tensor:
    """Outputs of a model for nodes, ``rows`` nodes at a time."""
    return torch.cat([forward(part) for part in torch.split(nodes, rows)])
