from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from unifilter.experiments import EXPERIMENTS, Options, Sources, find_experiments
from unifilter.experiments import measures as measures_module
from unifilter.experiments.engine.plan import Planner
from unifilter.experiments.engine.progress import RunProgress
from unifilter.experiments.engine.reproduce import Reproduced, reproduce
from unifilter.experiments.measures import Measure
from unifilter.methods import problem as problem_module
from unifilter.methods.gcn import GCNMethod

# What differs between two runs of the same thing.
NEVER_THE_SAME = ("seconds", "cell_seconds", "peak_memory_mib")


def run(
    name: str, out: Path, files: dict[str, Path], *, splits: int = 2, datasets: Any = None, **options: Any
) -> Reproduced:
    wanted = Options(splits=splits, datasets=datasets, epochs=2, methods=options.pop("methods", None))
    options.setdefault("verbose", False)
    return reproduce(find_experiments(name), out, wanted, Sources(own=files), **options)


def table_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return [{key: value for key, value in row.items() if key not in NEVER_THE_SAME} for row in csv.DictReader(file)]


@pytest.fixture
def factorizations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many were made."""
    count, factorize = [0], problem_module.factorize

    def counted(*arguments: Any) -> Any:
        count[0] += 1
        return factorize(*arguments)

    monkeypatch.setattr(problem_module, "factorize", counted)
    return count


def test_the_tau_figure_factors_each_graph_once(
    tmp_path: Path, tiny_files: dict[str, Path], factorizations: list[int]
) -> None:
    result = run("figure-tau", tmp_path, tiny_files, splits=4)
    assert (result.ran, factorizations) == (11 * 4 * 2, [2])


def test_nothing_is_run_twice(tmp_path: Path, tiny_files: dict[str, Path], factorizations: list[int]) -> None:
    first = run("figure-tau", tmp_path, tiny_files, datasets=("squirrel",))
    table = table_of(tmp_path / "figure-tau" / "results.csv")
    again = run("figure-tau", tmp_path, tiny_files, datasets=("squirrel",))
    assert ((first.ran, first.reused), (again.ran, again.reused), factorizations) == ((22, 0), (0, 22), [1])
    assert table_of(tmp_path / "figure-tau" / "results.csv") == table
    # Tau is 0.7 as published: the cells of the spectrum figure are among those of the tau figure.
    assert run("figure-spectrum", tmp_path, tiny_files, datasets=("squirrel",)).reused == 2


def test_more_splits_add_to_those_that_are_done(tmp_path: Path, tiny_files: dict[str, Path]) -> None:
    assert run("table-estimate", tmp_path, tiny_files, splits=1, datasets=("actor",)).ran == 3
    more = run("table-estimate", tmp_path, tiny_files, splits=3, datasets=("actor",))
    assert (more.ran, more.reused) == (5, 3)  # there are but two masks


def test_rows_in_csv_files_count_as_done(tmp_path: Path, tiny_files: dict[str, Path]) -> None:
    run("table-sensitivity", tmp_path / "a", tiny_files, splits=1)
    known = [tmp_path / "a"]
    elsewhere = run("table-sensitivity", tmp_path / "b", tiny_files, splits=1, known=known)
    assert (elsewhere.ran, elsewhere.reused) == (0, 10)
    results = "table-sensitivity/results.csv"
    assert table_of(tmp_path / "b" / results) == table_of(tmp_path / "a" / results)


def test_a_newer_version_of_a_method_is_run_again(
    tmp_path: Path, tiny_files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from unifilter.methods import METHODS

    options = {"datasets": ("chameleon-filtered",), "methods": ("mlp", "sgc"), "splits": 1}
    run("table-beyond", tmp_path, tiny_files, **options)
    monkeypatch.setattr(METHODS["mlp"], "version", METHODS["mlp"].version + 1)
    again = run("table-beyond", tmp_path, tiny_files, **options)
    assert (again.ran, again.reused) == (1, 1)


def test_a_fresh_run_keeps_the_old_results(tmp_path: Path, tiny_files: dict[str, Path]) -> None:
    said: list[str] = []
    run("table-estimate", tmp_path, tiny_files, splits=1, datasets=("actor",))
    fresh = run("table-estimate", tmp_path, tiny_files, splits=1, datasets=("actor",), resume=False, notify=said.append)
    assert (fresh.ran, fresh.reused) == (3, 0)
    assert said == [f"the results of earlier runs are kept in {tmp_path / 'cells.db.before-1'}"]
    assert (tmp_path / "cells.db.before-1").exists()


def test_a_damaged_store_is_reported_and_its_cells_run_again(tmp_path: Path, tiny_files: dict[str, Path]) -> None:
    said: list[str] = []
    run("table-estimate", tmp_path, tiny_files, splits=1, datasets=("actor",))
    (tmp_path / "cells.db").write_bytes(b"garbage" * 1000)
    again = run("table-estimate", tmp_path, tiny_files, splits=1, datasets=("actor",), notify=said.append)
    assert again.ran == 3
    assert len(said) == 1
    assert "was damaged: it is kept as" in said[0]
    assert (tmp_path / "cells.db.damaged-1").read_bytes() == b"garbage" * 1000


def test_a_cell_that_fails_does_not_stop_the_others(
    tmp_path: Path, tiny_files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = measures_module.MEASURES["estimate"].function

    def fails_once(workspace: Any, cell: Any) -> dict[str, Any]:
        if cell.index == 1:
            raise ValueError("this one is broken")
        return measured(workspace, cell)

    with monkeypatch.context() as patched:
        patched.setitem(measures_module.MEASURES, "estimate", Measure(fails_once))
        result = run("table-estimate", tmp_path, tiny_files, datasets=("actor",))
    assert (result.ran, len(result.failures)) == (3, 3)
    assert result.failures[0].endswith("ValueError: this one is broken")
    assert "this one is broken" in (tmp_path / "table-estimate" / "report.html").read_text()
    assert run("table-estimate", tmp_path, tiny_files, datasets=("actor",)).ran == 3


def test_two_processes_find_what_one_finds(tmp_path: Path, tiny_files: dict[str, Path]) -> None:
    options = {"splits": 1, "datasets": ("actor", "squirrel")}
    alone = run("table-estimate-share", tmp_path / "one", tiny_files, **options)
    together = run("table-estimate-share", tmp_path / "two", tiny_files, workers=2, **options)
    assert alone.ran == together.ran == 12
    results = "table-estimate-share/results.csv"
    assert table_of(tmp_path / "one" / results) == table_of(tmp_path / "two" / results)


def test_processes_end_with_a_run_that_is_killed() -> None:
    program = """
import os, time
from unifilter.experiments import Sources
from unifilter.experiments.engine.runner import _new_pool
if __name__ == "__main__":
    pool = _new_pool(Sources(), 1)
    print(pool.submit(os.getpid).result(), flush=True)
    pool.submit(time.sleep, 600).result()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = psutil.Process(int(parent.stdout.readline()))
        assert worker.is_running()
        parent.kill()
    worker.wait(timeout=30)


@pytest.mark.parametrize(
    ("waiting", "at", "chosen"),
    [
        ({"cora": 1, "pubmed": 5}, {0: "cora"}, "cora"),  # what it has
        ({"pubmed": 5, "actor": 1}, {0: "cora", 1: "pubmed"}, "actor"),  # what nobody has
        ({"pubmed": 5, "actor": 9}, {0: "cora", 1: "pubmed", 2: "actor"}, "actor"),  # where most is left
        ({}, {0: "cora"}, None),
    ],
)
def test_a_process_stays_with_its_data(waiting: dict[str, int], at: dict[int, str], chosen: str | None) -> None:
    from unifilter.experiments.engine.runner import _next_dataset

    cells: Any = {dataset: [object()] * count for dataset, count in waiting.items()}
    assert _next_dataset(cells, at, 0) == chosen


def test_large_graphs_are_left_out_where_they_are_not(tmp_path: Path, tiny_files: dict[str, Path]) -> None:
    here = {name: tiny_files[name] for name in ("cornell5", "genius")}
    sources = Sources(tmp_path / "empty", here)
    plan = Planner(sources, Options(splits=1, methods=("sgc",))).plan(EXPERIMENTS["table-large"], alone=True)
    assert list(plan.checksums) == ["genius", "cornell5"]
    assert plan.left_out[0] == (
        "penn94: penn94 is not in the data directory: unifilter.datasets.fetch('penn94') downloads it"
    )


def test_settings_are_those_that_were_published_for_the_splits(tiny_files: dict[str, Path]) -> None:
    planner = Planner(Sources(own=tiny_files), Options(splits=1, datasets=("cora",), methods=("gcn",)))
    (on_masks,) = (planned.cell.settings for planned in planner.plan(EXPERIMENTS["table-models"], alone=True).cells)
    assert GCNMethod.presets["cora/48"].items() <= on_masks.items()
    assert not GCNMethod.presets["cora"].items() <= on_masks.items()


def test_what_cannot_be_run_is_an_error_alone_and_left_out_among_others(tiny_files: dict[str, Path]) -> None:
    planner = Planner(Sources(own=tiny_files), Options(datasets=("actor",), methods=("gcn",)))
    with pytest.raises(ValueError, match="nothing to run for figure-tau: actor: none of the requested methods"):
        planner.plan(EXPERIMENTS["figure-tau"], alone=True)
    with pytest.raises(ValueError, match="table-sensitivity uses pubmed, squirrel, not 'actor': drop it"):
        planner.plan(EXPERIMENTS["table-sensitivity"], alone=True)
    assert planner.plan(EXPERIMENTS["table-sensitivity"], alone=False).cells == []


def test_progress_in_a_pipe_is_a_line_a_cell(
    tmp_path: Path, tiny_files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run("figure-spectrum", tmp_path, tiny_files, datasets=("actor",), verbose=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "figure-spectrum: 2 cells, 0 of them done before"
    assert lines[1].startswith("[1/2, about ")
    assert "actor unifilter split 0: test accuracy 0." in lines[1]
    assert lines[2].startswith("[2/2] actor unifilter split 1")


def test_progress_on_a_terminal_is_a_table(tiny_files: dict[str, Path]) -> None:
    from rich.console import Console

    planner = Planner(Sources(own=tiny_files), Options(splits=2, datasets=("actor", "squirrel")))
    cells = planner.plan(EXPERIMENTS["figure-spectrum"], alone=True).cells
    progress = RunProgress("figure-spectrum", cells, 3, workers=2, enabled=False)
    assert progress.seconds_left() is None
    progress.finished(cells[0], {"cell_seconds": 10.0, "test_accuracy": 0.5})
    # One more of the same kind, and two of another at the average, by two processes.
    assert progress.seconds_left() == 15.0
    progress.failed(cells[1], "ValueError: [broken]")
    console = Console(width=120, file=io.StringIO())
    console.print(progress.table())
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "5/7, 1 failed, about 10 s left" in text
    assert "ValueError: [broken]" in text


def test_one_graph_of_the_figure_over_homophily_can_be_run_alone(tiny_files: dict[str, Path]) -> None:
    planner = Planner(Sources(own=tiny_files), Options(splits=1, datasets=("cora@0.3",)))
    cells = planner.plan(EXPERIMENTS["figure-homophily"], alone=True).cells
    assert {(cell.cell.dataset, cell.cell.at["homophily"]) for cell in cells} == {("cora@0.3", 0.3)}
    assert len(cells) == 9
    formulations = {cell.cell.at["filter"]: cell.cell.settings["formulation"] for cell in cells}
    assert formulations.pop("HetFilter, published code") == "released"
    assert set(formulations.values()) == {"paper"}


def test_a_relabeled_graph_needs_a_homophily(tiny_files: dict[str, Path]) -> None:
    with pytest.raises(ValueError, match="cora@much contains no homophily: write cora@0.3, for example"):
        Sources(own=tiny_files).load("cora@much")
