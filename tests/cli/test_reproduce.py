from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from real_graphs import needs_data
from typer.testing import CliRunner, Result

from unifilter import cli
from unifilter.datasets.synthetic import contextual_sbm
from unifilter.experiments.engine.row_files import PACKAGED_ROWS, packaged_rows

NEVER_THE_SAME = ("seconds", "cell_seconds", "peak_memory_mib")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, ["reproduce", *map(str, arguments)])


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """On graphs of this size threads only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def actor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = contextual_sbm(80, 4, 0.3, average_degree=5, num_features=10, signal=2.0, seed=1)
    path = tmp_path_factory.mktemp("data") / "actor.npz"
    edges = made.graph.edges()[0].T.numpy()
    np.savez(path, node_features=made.features.abs().numpy(), node_labels=made.labels.numpy(), edges=edges)
    return path


def rows_of(out: Path) -> list[dict[str, str]]:
    with (out / "figure-tau" / "results.csv").open(newline="") as file:
        return [{k: v for k, v in row.items() if k not in NEVER_THE_SAME} for row in csv.DictReader(file)]


def test_a_part_of_a_figure(actor: Path, tmp_path: Path) -> None:
    part = ["--datasets", "actor", "--splits", "1", "--epochs", "2", "--data", f"actor={actor}", "--out", tmp_path]
    result = run("figure-tau", *part)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "11 cells run, 0 done before",
        str(tmp_path / "figure-tau" / "report.html"),
    ]
    again = run("figure-tau", *part, "--json")
    assert json.loads(again.stdout) == {
        "folder": str(tmp_path),
        "ran": 0,
        "reused": 11,
        "failures": [],
        "left_out": [],
        "pages": {"figure-tau": str(tmp_path / "figure-tau" / "report.html")},
    }
    page = (tmp_path / "figure-tau" / "report.html").read_text()
    assert "unifilter reproduce figure-tau --splits 1 --datasets actor --epochs 2" in page
    assert "11 of 11 results, all of them from earlier runs" in page
    more = run("figure-tau", *part[:2], "--splits", "2", *part[4:])
    assert more.exit_code == 0, more.output
    page = (tmp_path / "figure-tau" / "report.html").read_text()
    assert "22 of 22 results, 11 from earlier runs" in page
    assert str(actor) not in page


def test_what_is_stored_is_shown_without_a_run(actor: Path, tmp_path: Path) -> None:
    part = ["--datasets", "actor", "--epochs", "2", "--data", f"actor={actor}", "--out", tmp_path]
    nothing = run("figure-tau", *part, "--stored")
    assert nothing.exit_code == 0, nothing.output
    assert nothing.stdout == "0 cells run, 0 done before\n"
    assert nothing.stderr == "skipped: figure-tau: no cell is done yet\n"
    run("figure-tau", *part, "--splits", "1")
    (tmp_path / "figure-tau" / "report.html").unlink()
    stored = run("figure-tau", *part, "--splits", "3", "--stored")
    assert stored.exit_code == 0, stored.output
    assert stored.stdout.splitlines()[0] == "0 cells run, 11 done before"
    assert stored.stderr == ""  # no progress of a run
    page = (tmp_path / "figure-tau" / "report.html").read_text()
    assert "11 of 33 results, all of them from earlier runs, perhaps on another machine" in page
    assert len(rows_of(tmp_path)) == 11


@needs_data
def test_rows_that_ship_with_the_package_are_measured_again(tmp_path: Path) -> None:
    part = ["table-estimate", "--datasets", "cora", "--splits", "1"]
    packaged = [row for row in packaged_rows() if row["experiment"] == "table-estimate" and row["dataset"] == "cora"]
    assert packaged  # otherwise the counts below say nothing
    measured = json.loads(run(*part, "--out", tmp_path / "measured", "--json").stdout)
    assert (measured["ran"], measured["reused"]) == (3, 0)
    reused = json.loads(run(*part, "--out", tmp_path / "reused", "--known", PACKAGED_ROWS, "--json").stdout)
    assert (reused["ran"], reused["reused"]) == (0, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["figure-9"], "there is no experiment 'figure-9': choose all, or one of table-polynomial"),
        (["figure-tau", "--methods", "gcm"], "there is no method 'gcm': choose from"),
        (["figure-tau", "--datasets", " , "], "' , ' contains no name: pass comma-separated names"),
        (["figure-tau", "--data", "cora"], "--data takes NAME=PATH, not 'cora'"),
        (
            ["figure-tau", "--trials", "3"],
            "--trials applies to table-beyond, table-shared, table-auto, not to figure-tau",
        ),
        (["figure-tau", "--known", "nowhere.csv"], "there is no file or folder nowhere.csv"),
        (["figure-tau", "--fresh", "--stored"], "so --stored has nothing to show: pass only one of them"),
    ],
)
def test_mistakes_are_named(arguments: list[str], message: str, tmp_path: Path) -> None:
    result = run(*arguments, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_killed_run_goes_on_where_it_was(actor: Path, tmp_path: Path) -> None:
    part = ["figure-tau", "--datasets", "actor", "--splits", "1", "--epochs", "6", "--data", f"actor={actor}"]
    command = [sys.executable, "-m", "unifilter", "reproduce", *part, "--out", str(tmp_path / "killed")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        # The third line says that the second cell is stored: the process is in the middle of the third.
        seen = [process.stderr.readline() for _ in range(3)]
        time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert process.returncode == -signal.SIGKILL, seen
    resumed = run(*part, "--out", tmp_path / "killed", "--json")
    assert resumed.exit_code == 0, resumed.output
    counts = json.loads(resumed.stdout)
    assert counts["ran"] + counts["reused"] == 11
    assert 2 <= counts["reused"] < 11
    assert run(*part, "--out", tmp_path / "whole").exit_code == 0
    assert rows_of(tmp_path / "killed") == rows_of(tmp_path / "whole")


def test_an_interrupt_says_how_to_go_on(actor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unifilter.experiments.engine import worker

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(worker.Worker, "outcome", interrupted)
    result = run("figure-tau", "--datasets", "actor", "--data", f"actor={actor}", "--out", tmp_path)
    assert result.exit_code == 130
    assert (
        f"interrupted; finished rows are in {tmp_path}. Run the same command to continue, or with --stored"
        in result.stderr
    )
