"""Plan experiments, run missing cells, and write the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unifilter._internal.checks import check_count
from unifilter.experiments.engine.experiment import Experiment, Options
from unifilter.experiments.engine.files import write_whole
from unifilter.experiments.engine.machine import describe_machine
from unifilter.experiments.engine.plan import Plan, PlannedCell, Planner
from unifilter.experiments.engine.progress import RunProgress
from unifilter.experiments.engine.row_files import Row, by_key, find_rows, write_rows
from unifilter.experiments.engine.runner import run_cells
from unifilter.experiments.engine.sources import Sources
from unifilter.experiments.engine.store import Store, move_aside
from unifilter.experiments.show.pictures import save_picture
from unifilter.experiments.show.report import Section, write_page
from unifilter.methods import METHODS

_STORE = "cells.db"


@dataclass
class Reproduced:
    """The outcome of a reproduction.

    Attributes:
        folder: The output folder.
        ran: Number of cells run now.
        reused: Number of cells done before.
        failures: Messages of failed cells.
        left_out: What could not be measured, and why.
        pages: Paths of the reports by experiment; ``"all"`` contains every experiment.
    """

    folder: Path
    ran: int = 0
    reused: int = 0
    failures: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    pages: dict[str, Path] = field(default_factory=dict)


def reproduce(
    experiments: Sequence[Experiment],
    folder: Path,
    options: Options,
    sources: Sources,
    *,
    workers: int = 1,
    known: Sequence[Path] = (),
    resume: bool = True,
    stored: bool = False,
    verbose: bool = True,
    command: str = "reproduce(...)",
    notify: Callable[[str], None] = lambda message: None,
) -> Reproduced:
    """Run experiments and write rows, plots and reports.

    Rows that ship with the package do not count as done: everything is measured here. To show them, use
    :func:`unifilter.experiments.engine.results.stored_results`.

    Args:
        experiments: The experiments.
        folder: Folder of the output and of the store of finished cells.
        options: The part to run.
        sources: The data.
        workers: Number of processes.
        known: CSV files of rows, or folders of them, to reuse.
        resume: Whether to reuse rows in the folder; otherwise its store is moved aside.
        stored: Run nothing and write what the folder contains.
        verbose: Whether to show progress.
        command: The command to repeat it, for the report.
        notify: Called with messages for the user, for example about a damaged store.
    """
    check_count("workers", workers, "pass 1 to run everything in this process")
    check_count("splits", options.splits, "pass the number of splits to run")
    if stored and not resume:
        raise ValueError("resume=False ignores stored rows, so stored=True has nothing to show: pass only one of them")
    for method in {name for one in experiments for name in one.methods() if options.wants(name) and not stored}:
        METHODS[method].check_installed()
    done_before = by_key(find_rows(known))
    planner = Planner(sources, options)
    plans = [planner.plan(experiment, alone=len(experiments) == 1) for experiment in experiments]
    store_path = folder / _STORE
    if not resume and store_path.exists():
        notify(f"the results of earlier runs are kept in {move_aside(store_path, 'before')}")
    result = Reproduced(folder)
    sections = []
    with Store(store_path) as store:
        if store.set_aside is not None:
            notify(
                f"{store_path} was damaged: it is kept as {store.set_aside}, and its cells must be run again. Reuse "
                "rows that were written to results.csv files with known=[...]."
            )
        for plan in plans:
            wanted = {planned.key: planned for planned in plan.cells}
            missing = [planned for key, planned in wanted.items() if key not in store and key not in done_before]
            result.reused += len(wanted) - len(missing)
            if stored and wanted and len(missing) == len(wanted):
                plan.left_out.append("no cell is done yet")
            elif wanted:
                now = [] if stored else missing
                failures = {} if stored else _run(plan, now, store, sources, workers, verbose, result)
                sections.append(_write(plan, now, store, done_before, failures, folder, options, command, result))
            result.left_out += [f"{plan.experiment.name}: {what}" for what in plan.left_out]
    if len(experiments) > 1 and sections:
        result.pages["all"] = folder / "report.html"
        write_whole(result.pages["all"], write_page(sections, describe_machine(), command))
    return result


def _run(
    plan: Plan,
    missing: Sequence[PlannedCell],
    store: Store,
    sources: Sources,
    workers: int,
    verbose: bool,
    result: Reproduced,
) -> dict[str, str]:
    done = len({planned.key for planned in plan.cells}) - len(missing)
    with RunProgress(plan.experiment.name, missing, done, workers, verbose) as progress:
        failures = run_cells(missing, sources, store, workers, progress) if missing else {}
    result.ran += len(missing) - len(failures)
    result.failures += [f"{planned.cell}: {failures[planned.key]}" for planned in missing if planned.key in failures]
    return failures


def _write(
    plan: Plan,
    now: Sequence[PlannedCell],
    store: Store,
    done_before: Mapping[str, Row],
    failures: Mapping[str, str],
    folder: Path,
    options: Options,
    command: str,
    result: Reproduced,
) -> Section:
    """Write rows, plots and the report of one experiment."""
    experiment, own = plan.experiment, folder / plan.experiment.name
    rows: list[Row] = []
    ran, before = {planned.key for planned in now}, 0
    for planned in plan.cells:
        row: dict[str, Any] | None = store.get(planned.key) or done_before.get(planned.key)
        if row is not None:
            before += planned.key not in ran
            rows.append({**row, "experiment": experiment.name, "at": dict(planned.cell.at)})
    write_rows(own / "results.csv", rows)
    presentation = experiment.present(rows)
    if options.epochs is not None:
        presentation.notes.insert(0, f"A trial run of at most {options.epochs} epochs: its scores are not comparable.")
    picture = None
    if presentation.draw is not None:
        svg = own / f"{experiment.name}.svg"
        save_picture(presentation, {svg: "svg", svg.with_suffix(".png"): "png"})
        picture = svg.read_bytes()
    failed = [f"{planned.cell}: {failures[planned.key]}" for planned in plan.cells if planned.key in failures]
    section = Section(
        experiment.name,
        experiment.title,
        experiment.place,
        presentation,
        picture,
        checksums=plan.checksums,
        left_out=[*plan.left_out, *failed],
        rows=len(rows),
        before=before,
        wanted=len(plan.cells),
    )
    result.pages[experiment.name] = own / "report.html"
    write_whole(own / "report.html", write_page([section], describe_machine(), command))
    return section
