"""Runs cells in this process or in several, and stores each result as soon as it is available."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import torch

from unifilter.experiments.engine.cells import Cell
from unifilter.experiments.engine.plan import PlannedCell
from unifilter.experiments.engine.progress import RunProgress
from unifilter.experiments.engine.sources import Sources
from unifilter.experiments.engine.store import Store
from unifilter.experiments.engine.worker import Worker


def run_cells(
    cells: Sequence[PlannedCell], sources: Sources, store: Store, workers: int, progress: RunProgress
) -> dict[str, str]:
    """Run all cells. A failed cell does not stop the others, and is run again next time.

    Args:
        cells: The cells to run, with distinct keys.
        sources: The data.
        store: Store for the rows.
        workers: Number of processes; 1 runs the cells in this process.
        progress: The progress display.

    Returns:
        Messages of failed cells, by key.
    """
    run = _run_here if workers == 1 else _run_in_processes
    failures: dict[str, str] = {}
    # Rows are stored here, in the main process: an interrupt leaves the store intact.
    for planned, outcome in run(cells, sources, workers):
        if isinstance(outcome, Exception):
            failures[planned.key] = f"{type(outcome).__name__}: {outcome}"
            progress.failed(planned, failures[planned.key])
        else:
            store.put(planned.key, {**planned.identity, "dataset": planned.cell.dataset, "outcome": outcome})
            progress.finished(planned, outcome)
    return failures


def _run_here(cells: Sequence[PlannedCell], sources: Sources, _: int):  # type: ignore[no-untyped-def]
    worker = Worker(sources)
    for planned in cells:
        try:
            outcome: Any = worker.outcome(planned.cell)
        except Exception as error:
            outcome = error
        yield planned, outcome


def _run_in_processes(cells: Sequence[PlannedCell], sources: Sources, workers: int):  # type: ignore[no-untyped-def]
    """Distribute cells over processes. A process keeps its data set as long as possible, to factorize it only once."""
    waiting: dict[str, list[PlannedCell]] = {}
    for planned in cells:
        waiting.setdefault(planned.cell.dataset, []).append(planned)
    threads = max(1, (os.cpu_count() or 1) // workers)
    pools = {place: _new_pool(sources, threads) for place in range(min(workers, len(cells)))}
    at: dict[int, str] = {}
    running: dict[Future[dict[str, Any]], tuple[int, PlannedCell]] = {}
    try:
        while waiting or running:
            idle = [place for place in pools if place not in {place for place, _ in running.values()}]
            for place in idle:
                dataset = _next_dataset(waiting, at, place)
                if dataset is not None:
                    at[place] = dataset
                    planned = waiting[dataset].pop(0)
                    if not waiting[dataset]:
                        del waiting[dataset]
                    running[pools[place].submit(_outcome, planned.cell)] = (place, planned)
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                place, planned = running.pop(future)
                try:
                    outcome: Any = future.result()
                except BrokenProcessPool:
                    outcome = RuntimeError("its process was killed, perhaps for lack of memory")
                    pools[place] = _new_pool(sources, threads)
                except Exception as error:
                    outcome = error
                yield planned, outcome
    finally:
        for pool in pools.values():
            pool.shutdown(wait=False, cancel_futures=True)


def _next_dataset(waiting: dict[str, list[PlannedCell]], at: dict[int, str], place: int) -> str | None:
    """The data set of the process; else one that no other process has; else the one with the most cells left."""
    if not waiting:
        return None
    if at.get(place) in waiting:
        return at[place]
    taken = {dataset for other, dataset in at.items() if other != place}
    free = [dataset for dataset in waiting if dataset not in taken]
    return free[0] if free else max(waiting, key=lambda dataset: len(waiting[dataset]))


# The worker of this process, if it is a worker process.
_worker: Worker | None = None


def _new_pool(sources: Sources, threads: int) -> ProcessPoolExecutor:
    # Spawned, because a forked copy of a process with running threads can deadlock.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=context, initializer=_start, initargs=(sources, threads))


def _start(sources: Sources, threads: int) -> None:
    global _worker
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    _worker = Worker(sources)


def _end_with_parent() -> None:
    """Exit when the parent process ends, rather than finish a cell that nobody waits for."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _outcome(cell: Cell) -> dict[str, Any]:
    if _worker is None:
        raise RuntimeError("this process is not a worker")
    return _worker.outcome(cell)
