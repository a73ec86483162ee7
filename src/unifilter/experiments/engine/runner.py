"""Runs the cells that are not done yet, in this process or in several, and stores each as soon as it is done."""

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
    """Runs all cells; a cell that fails does not stop the others, and is tried again next time.

    Args:
        cells: What to run, no key twice.
        sources: Where data comes from.
        store: Where rows go.
        workers: How many processes; 1 is this one.
        progress: Is told what happens.

    Returns:
        The messages of the cells that failed, by key.
    """
    run = _run_here if workers == 1 else _run_in_processes
    failures: dict[str, str] = {}
    # Ends of the generator are awaited here: an interrupt leaves what is stored as it is.
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
    """A data set stays with one process while there are others to go round, so that it is factored once."""
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
                    outcome = RuntimeError("its process was ended from outside, perhaps for lack of memory")
                    pools[place] = _new_pool(sources, threads)
                except Exception as error:
                    outcome = error
                yield planned, outcome
    finally:
        for pool in pools.values():
            pool.shutdown(wait=False, cancel_futures=True)


def _next_dataset(waiting: dict[str, list[PlannedCell]], at: dict[int, str], place: int) -> str | None:
    """The data set a process has already; else one that no other has; else the one with the most cells left."""
    if not waiting:
        return None
    if at.get(place) in waiting:
        return at[place]
    taken = {dataset for other, dataset in at.items() if other != place}
    free = [dataset for dataset in waiting if dataset not in taken]
    return free[0] if free else max(waiting, key=lambda dataset: len(waiting[dataset]))


# Of a process that was started to work.
_worker: Worker | None = None


def _new_pool(sources: Sources, threads: int) -> ProcessPoolExecutor:
    # Started afresh: a copy of a process with running threads may wait for a lock that nobody holds any more.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=context, initializer=_start, initargs=(sources, threads))


def _start(sources: Sources, threads: int) -> None:
    global _worker
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    _worker = Worker(sources)


def _end_with_parent() -> None:
    """Nobody waits for the cell of a run that was killed, and it may take minutes."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _outcome(cell: Cell) -> dict[str, Any]:
    if _worker is None:
        raise RuntimeError("this process was not started to work on cells")
    return _worker.outcome(cell)
