"""``unifilter factorize``: vectors to a folder, on this machine or on many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from unifilter._internal.memory import available_bytes, check_limit
from unifilter.cli.options import DataDir, MemoryLimit
from unifilter.cli.progress import ProgressBar
from unifilter.data import FeatureScaling
from unifilter.datasets import load_dataset
from unifilter.methods import Storage, Workspace


def factorize_command(
    name_or_path: Annotated[str, typer.Argument(help="A named data set, a file, or a folder from `data convert`.")],
    store: Annotated[Path, typer.Option(help="Folder to write to; `train --store` reads from it.")],
    hops: Annotated[int, typer.Option(help="Number of hops.", min=1)] = 10,
    features: Annotated[
        FeatureScaling, typer.Option(help="Raw features, or rows divided by their sum or length.")
    ] = "row",
    self_loops: Annotated[Literal["remove", "add"], typer.Option(help="Self-loops of the graph.")] = "remove",
    labeled_only: Annotated[
        bool, typer.Option("--labeled-only", help="Keep only the rows of nodes with a label: all that training reads.")
    ] = False,
    storage: Annotated[
        Literal["float32", "float16"], typer.Option(help="float16 takes half the room and loses digits.")
    ] = "float32",
    workers: Annotated[int | None, typer.Option(help="So many processes on this machine.", min=1)] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler whose workers see the same folders.")
    ] = None,
    memory_limit: MemoryLimit = None,
    data_dir: DataDir = None,
) -> None:
    """Factorize a data set to a folder, block by block: an interrupted run is continued by the same command."""
    if workers is not None and scheduler is not None:
        raise ValueError("workers on this machine or those of a scheduler: pass --workers or --scheduler")
    if features == "standard":
        raise ValueError("standardized columns differ from split to split: pass --features raw, row or l2")
    dataset = load_dataset(name_or_path, data_dir)
    limit = int(available_bytes()) if memory_limit is None else check_limit(memory_limit)
    kept = np.flatnonzero(dataset.answered) if labeled_only else None
    with _workers(workers, scheduler) as run, ProgressBar(f"factorize {dataset.name}") as progress:
        # Workers on this machine share its memory.
        fact = Storage(limit // (workers or 1), store).factorize(
            Workspace(dataset).graph(self_loops),
            Workspace(dataset).prepared_features(features),
            hops,
            kept,
            keep_all=kept is None,
            storage=storage,
            on_progress=lambda done, count: progress.update(f"{done} of {count} blocks", done / count),
            run=run,
        )
    lost = "" if storage == "float32" else f"; vectors of length 1 lost {fact.storage_error:.1e} at most"
    typer.echo(f"{fact.folder}: {fact!r}{lost}")


@contextmanager
def _workers(count: int | None, scheduler: str | None) -> Iterator[Any]:
    """What does the blocks; ``None`` is this process."""
    if count is None and scheduler is None:
        yield None
        return
    from unifilter.factorization.stored.cluster import local_workers, on_workers, remote_workers

    with local_workers(count) if count is not None else remote_workers(str(scheduler)) as client:
        typer.echo(f"Dask dashboard: {client.dashboard_link}", err=True)
        yield on_workers(client)
