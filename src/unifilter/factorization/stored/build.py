"""Factorize to a folder under a memory limit, and resume interrupted runs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unifilter._internal.array_files import told_of_full_disks, write_array
from unifilter._internal.checks import as_node_mask, check_choice
from unifilter._internal.locks import folder_lock
from unifilter._internal.memory import available_bytes, check_limit, said_bytes
from unifilter._internal.scratch import remove_abandoned
from unifilter.factorization.stored.block import compute_block, write_block
from unifilter.factorization.stored.feature_columns import FeatureColumns, feature_columns
from unifilter.factorization.stored.layout import (
    MANIFEST,
    NODES,
    StoreKey,
    block_path,
    check_same,
    column_blocks,
    nodes_digest,
    read_block,
    read_store_manifest,
    vectors_path,
    write_store_manifest,
)
from unifilter.factorization.stored.memory_plan import MemoryPlan
from unifilter.factorization.stored.stored_factorization import StoredFactorization
from unifilter.graph import Graph

OnProgress = Callable[[int, int], object]


@dataclass(frozen=True)
class BlockTasks:
    """The remaining blocks of a store, for one process or many.

    Attributes:
        folder: The store.
        graph: The graph.
        columns: The features.
        key: Key of the store.
        spans: Columns of each block.
        nodes: Nodes whose rows are kept; ``None`` for all.
        todo: Numbers of the incomplete blocks.
        block_bytes: Memory of a block.
        overlap: Whether there is memory to write a block while the next one is computed.
    """

    folder: Path
    graph: Graph
    columns: FeatureColumns
    key: StoreKey
    spans: list[tuple[int, int]]
    nodes: np.ndarray | None
    todo: list[int]
    block_bytes: int
    overlap: bool


def factorize_to_store(
    graph: Graph,
    x: Any,
    hops: int,
    store: str | os.PathLike[str],
    *,
    reorthogonalize: bool | None = None,
    memory_limit: str | int | None = None,
    nodes: Any = None,
    storage: str = "float32",
    on_progress: OnProgress | None = None,
    run: Callable[[BlockTasks, OnProgress], None] | None = None,
) -> StoredFactorization:
    """See :func:`unifilter.factorize`; ``run`` computes the blocks outside this process."""
    check_choice("storage", storage, ("float32", "float16"))
    graph.require_undirected("the factorization")
    if graph.device.type != "cpu":
        raise ValueError(f'a store is made on the CPU, and the graph is on {graph.device}: move it with .to("cpu")')
    limit = int(available_bytes()) if memory_limit is None else check_limit(memory_limit)
    columns = feature_columns(x, graph.num_nodes)
    digest, filled = columns.facts()
    kept = None if nodes is None else np.flatnonzero(as_node_mask(nodes, graph.num_nodes, "nodes"))
    dtype = str(columns.dtype)[6:]
    if storage == "float16" and dtype != "float32":
        raise ValueError("features in double precision are not stored as float16: pass float32 features")
    key = StoreKey(
        graph.checksum,
        digest,
        *columns.shape,
        hops,
        dtype,
        "float16" if storage == "float16" else dtype,
        reorthogonalize,
        nodes_digest(kept),
    )
    on_few = bool(((filled > 0) & (filled <= hops)).any())
    plan = MemoryPlan(
        graph.num_nodes,
        graph.num_entries,
        hops,
        columns.dtype.itemsize,
        columns.block_bytes(1) > 0,
        on_few,
        0 if kept is None else len(kept),
    )
    folder = Path(store)
    with told_of_full_disks(folder.absolute().parent):
        folder.mkdir(parents=True, exist_ok=True)
    with folder_lock(folder):
        width = _prepare(folder, key, plan, limit, kept)
        spans = column_blocks(key.channels, width)
        todo = _unfinished(folder, len(spans))
        _check_room(folder, key, spans, todo, kept)
        tasks = BlockTasks(
            folder, graph, columns, key, spans, kept, todo, plan.block_bytes(width), plan.overlaps(limit, width)
        )
        said = on_progress or (lambda *_: None)
        said(len(spans) - len(todo), len(spans))
        (run or _run_here)(tasks, said)
        _remove_leftovers(folder)
    return StoredFactorization.open(folder, verify=False)


def _prepare(folder: Path, key: StoreKey, plan: MemoryPlan, limit: int, kept: np.ndarray | None) -> int:
    """Check or create the store; returns the number of columns per block."""
    _remove_leftovers(folder)
    if not (folder / MANIFEST).exists():
        if any(folder.iterdir()):
            raise ValueError(f"{folder} holds other files: choose another folder")
        width = plan.width(limit, key.channels)
        record = None if kept is None else write_array(folder / NODES, kept)
        write_store_manifest(folder, key, width, record)
        return width
    found, width, _ = read_store_manifest(folder)
    check_same(folder, found, key)
    if plan.width(limit, key.channels) < width and _unfinished(folder, len(column_blocks(key.channels, width))):
        raise ValueError(
            f"{folder} was begun with blocks of {width} columns, which need {said_bytes(plan.block_bytes(width))}; "
            f"memory_limit is {said_bytes(limit)}: raise it, or choose another folder"
        )
    return width


def _remove_leftovers(folder: Path) -> None:
    """Delete incomplete files of killed processes or workers; the lock of the store keeps other processes out."""
    for part in folder.glob(".*.part"):
        part.unlink()
    # Another process may read this store, and have a folder for predictions in it.
    remove_abandoned(folder)


def _unfinished(folder: Path, count: int) -> list[int]:
    """Numbers of incomplete blocks. Raises an error for a damaged complete block."""
    todo = []
    for index in range(count):
        if block_path(folder, index).exists():
            try:
                read_block(folder, index, verify=True)
            except ValueError as error:
                raise ValueError(
                    f"{error}. All other blocks can stay: delete {block_path(folder, index)} and factorize again"
                ) from error
        else:
            todo.append(index)
    return todo


def _check_room(
    folder: Path, key: StoreKey, spans: list[tuple[int, int]], todo: list[int], kept: np.ndarray | None
) -> None:
    """Raise an error if the disk has too little room, before hours of work."""
    rows = key.num_nodes if kept is None else len(kept)
    size = 2 if key.storage == "float16" else key.torch_type.itemsize
    needed = sum(spans[index][1] - spans[index][0] for index in todo) * rows * (key.hops + 1) * size
    needed -= sum(vectors_path(folder, i).stat().st_size for i in todo if vectors_path(folder, i).exists())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise ValueError(
            f"the store needs {said_bytes(needed)} more on the disk of {folder}, which has {said_bytes(free)}: choose "
            'another folder, keep only the rows of the labeled nodes (nodes=...), or take storage="float16"'
        )


def _run_here(tasks: BlockTasks, said: OnProgress) -> None:
    done = len(tasks.spans) - len(tasks.todo)
    written: Future[Any] | None = None
    with ThreadPoolExecutor(max_workers=1) as writer:
        for index in tasks.todo:
            parts = compute_block(tasks.graph, tasks.columns, tasks.key, tasks.spans[index])
            if written is not None:
                written.result()
                done += 1
                said(done, len(tasks.spans))
            written = writer.submit(write_block, tasks.folder, index, tasks.spans[index], parts, tasks.key, tasks.nodes)
            del parts
            if not tasks.overlap:
                wait([written])
        if written is not None:
            written.result()
            said(len(tasks.spans), len(tasks.spans))
