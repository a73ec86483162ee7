"""The blocks of a store on many workers: one independent Dask future per block.

Workers open the graph and the features by path. So neither passes through the scheduler, and workers on one machine
share the memory pages of the graph.
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
from unifilter._internal.scratch import scratch_folder
from unifilter.factorization.stored.block import compute_block, write_block
from unifilter.factorization.stored.build import BlockTasks, OnProgress
from unifilter.factorization.stored.feature_columns import FeatureColumns, open_columns, save_columns
from unifilter.factorization.stored.layout import NODES, StoreKey, read_store_manifest
from unifilter.graph import Graph

# A worker with this resource computes one block at a time.
RESOURCE = "graph"
# Number of retries of a block after an error or after the loss of its worker.
_RETRIES = 3


@contextmanager
def local_workers(count: int) -> Iterator[Any]:
    """A client of ``count`` workers on this machine, with one thread each."""
    require("scale", what="several workers")
    import dask
    from distributed import Client, LocalCluster

    # The memory plan of this package bounds the memory. Dask counts pages of mapped files as memory of a worker, and
    # must not end the worker because of them.
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
    """A client of a running scheduler, such as ``"tcp://10.0.0.1:8786"``."""
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
    """The ``run`` argument of :func:`unifilter.factorization.stored.factorize_to_store` that uses workers."""

    def run(tasks: BlockTasks, said: OnProgress) -> None:
        from distributed import as_completed

        if not tasks.todo:
            return
        with scratch_folder(tasks.folder) as scratch:
            job = {
                "folder": str(tasks.folder.absolute()),
                "graph": _graph_folder(tasks.graph, scratch),
                "columns": save_columns(tasks.columns, scratch),
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
    """Compute and write one block, on a worker."""
    key, folder = StoreKey(**job["key"]), Path(job["folder"])
    _, _, record = read_store_manifest(folder)
    nodes = None if record is None else np.array(open_array(folder / NODES, record, verify=False))
    graph, columns = _opened(job["graph"], job["columns"]["path"])
    write_block(folder, index, span, compute_block(graph, columns, key, span), key, nodes)
    return index


@lru_cache(maxsize=1)
def _opened(graph: str, features: str) -> tuple[Graph, FeatureColumns]:
    """The graph and the features, mapped once per worker."""
    opened = Graph.open(graph, verify=False)
    return opened, open_columns({"path": features}, opened.num_nodes)
