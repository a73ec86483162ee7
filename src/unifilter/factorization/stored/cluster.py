"""The blocks of a store on many workers: one Dask future for each, which needs nothing of the others.

Workers open graph and features by path, so neither goes through the scheduler, and workers of one machine share the
pages of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from unifilter._internal.array_files import open_array
from unifilter._internal.extras import require
from unifilter.factorization.stored.block import compute_block, write_block
from unifilter.factorization.stored.build import BlockTasks, OnProgress
from unifilter.factorization.stored.feature_columns import FeatureColumns, open_columns, save_columns
from unifilter.factorization.stored.layout import NODES, StoreKey, read_store_manifest
from unifilter.factorization.stored.row_cache import scratch_folder
from unifilter.graph import Graph

# A worker that has this resource takes one block at a time.
RESOURCE = "graph"
# How often a block is tried again after an error, or after the death of its worker.
_RETRIES = 3


@contextmanager
def local_workers(count: int) -> Iterator[Any]:
    """A client of so many workers on this machine, with one thread each."""
    require("scale", what="several workers")
    import dask
    from distributed import Client, LocalCluster

    # The store is what exceeds memory, and the plan of memory is ours: pages of mapped files, which Dask counts as
    # memory of a worker, must not end it.
    quiet = {f"distributed.worker.memory.{what}": False for what in ("target", "spill", "pause", "terminate")}
    with (
        dask.config.set({**quiet, "distributed.scheduler.allowed-failures": _RETRIES}),
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            resources={RESOURCE: 1},
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def remote_workers(address: str) -> Iterator[Any]:
    """A client of a scheduler that runs already, such as ``"tcp://10.0.0.1:8786"``."""
    require("scale", what="a scheduler")
    from distributed import Client

    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"there is no Dask scheduler at {address} ({error}): start one with `dask scheduler`"
        ) from None
    with client:
        yield client


def on_workers(client: Any) -> Callable[[BlockTasks, OnProgress], None]:
    """What :func:`unifilter.factorization.stored.factorize_to_store` takes to have blocks done by workers."""

    def run(tasks: BlockTasks, said: OnProgress) -> None:
        from distributed import as_completed

        if not tasks.todo:
            return
        with scratch_folder(tasks.folder) as scratch:
            job = {
                "folder": str(tasks.folder.absolute()),
                "graph": _graph_folder(tasks.graph, Path(scratch)),
                "columns": save_columns(tasks.columns, Path(scratch)),
                "key": asdict(tasks.key),
            }
            limited = any(RESOURCE in worker["resources"] for worker in client.scheduler_info()["workers"].values())
            futures = client.map(
                _block,
                tasks.todo,
                [tasks.spans[index] for index in tasks.todo],
                job=job,
                key=[f"block-{index}-{tasks.key.features[:16]}" for index in tasks.todo],
                pure=False,
                retries=_RETRIES,
                resources={RESOURCE: 1} if limited else None,
            )
            done = len(tasks.spans) - len(tasks.todo)
            for future in as_completed(futures):
                future.result()
                done += 1
                said(done, len(tasks.spans))

    return run


def _graph_folder(graph: Graph, scratch: Path) -> str:
    if graph.folder is None:
        graph.save(scratch / "graph")
        return str((scratch / "graph").absolute())
    return str(graph.folder.absolute())


def _block(index: int, span: tuple[int, int], job: dict[str, Any]) -> int:
    """What a worker does."""
    key, folder = StoreKey(**job["key"]), Path(job["folder"])
    _, _, record = read_store_manifest(folder)
    nodes = None if record is None else np.array(open_array(folder / NODES, record, verify=False))
    graph, columns = _opened(job["graph"], job["columns"]["path"])
    write_block(folder, index, span, compute_block(graph.compressed_rows, columns, key, span), key, nodes)
    return index


@lru_cache(maxsize=1)
def _opened(graph: str, features: str) -> tuple[Graph, FeatureColumns]:
    """The graph, mapped once in each worker."""
    opened = Graph.open(graph, verify=False)
    return opened, open_columns({"path": features}, opened.num_nodes)
