from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from real_graphs import needs_data
from typer.testing import CliRunner, Result

import unifilter
from unifilter import cli
from unifilter.cli import data as data_commands
from unifilter.cli import output

TABLES = {
    "nodes.csv": "id,x,label,split\n"
    + "".join(f"n{i},{i},{i % 2},{part}\n" for i, part in enumerate(["train", "train", "val", "test", "test", ""])),
    "edges.csv": "source,target\nn0,n1\nn2,n1\nn4,n1\nn3,n5\n",
}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    mine = tmp_path / "mine"
    mine.mkdir()
    for name, text in TABLES.items():
        (mine / name).write_text(text)
    return mine


def test_list_names_what_is_there_and_what_is_not(tmp_path: Path) -> None:
    result = run("data", "list", "--data-dir", tmp_path)
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["name", "present", "where"]
    assert ["chameleon", "no"] in lines
    assert ["karate", "yes", "networkx"] in lines
    (tmp_path / "npz").mkdir()
    (tmp_path / "npz" / "chameleon.npz").touch()
    listed = {row["name"]: row for row in json.loads(run("data", "list", "--data-dir", tmp_path, "--json").stdout)}
    assert listed["chameleon"] == {"name": "chameleon", "present": True, "where": str(tmp_path / "npz")}
    assert listed["squirrel"] == {"name": "squirrel", "present": False, "where": ""}


def test_info_on_a_folder_of_tables(folder: Path) -> None:
    result = run("data", "info", folder)
    assert result.exit_code == 0
    # Columns are two spaces apart or more.
    lines = dict(tuple(part.strip() for part in line.split("  ", 1)) for line in result.stdout.splitlines())
    assert (lines["name"], lines["nodes"], lines["edges"], lines["features"], lines["classes"]) == (
        "mine",
        "6",
        "4",
        "1",
        "2",
    )
    assert lines["edge homophily"] == "0.2500"  # n3-n5 alone
    assert lines["split"] == "given [0]"
    assert lines["train / val / test nodes"] == "2 / 1 / 2"
    # n0, n2 and n4 have the one neighbor and the class of one another; n4 is tested and n0 was trained on.
    assert lines["... and its label (duplicates)"] == "3"
    assert lines["test nodes that duplicate a training node"] == "50.0 %"
    assert lines["license"] == "-"
    figures = json.loads(run("data", "info", folder, "--json").stdout)
    assert (figures["leak"], figures["duplicates"], figures["splits"]) == (0.5, 3, {"given": 1})
    assert len(figures["checksum"]) == 64


def test_info_with_a_split_drawn_on_demand() -> None:
    figures = json.loads(run("data", "info", "karate", "--split", "60", "--index", "2", "--json").stdout)
    assert figures["split"] == "random-60-20-20 [2]"
    assert figures["train"] + figures["val"] + figures["test"] == 34
    default = json.loads(run("data", "info", "karate", "--index", "1", "--json").stdout)
    assert (default["split"], default["default_split"]) == ("stratified-60-20-20 [1]", "stratified")


def table_of(*arguments: str | Path) -> dict[str, str]:
    """The lines of a table; columns are two spaces apart or more."""
    printed = run("data", "info", *arguments).stdout.splitlines()
    return {name.strip(): value.strip() for name, value in (line.split("  ", 1) for line in printed)}


def test_info_tells_of_classes_edges_and_features(folder: Path) -> None:
    sizes = [40, 30, 20, 10, 9, 8, 7, 6, 5, 4, 3, 2]
    labels = [f"c{label}" for label, size in enumerate(sizes) for _ in range(size)]
    rows = [f"n{node},{node * 1000},{node % 2},7,{label}" for node, label in enumerate(labels)]
    (folder / "nodes.csv").write_text("id,income,sex,planet,label\n" + "\n".join(rows))
    (folder / "edges.csv").write_text("source,target,weight\nn0,n1,1\nn1,n0,1\nn2,n1,3\nn2,n1,1\nn3,n3,1\n")
    lines, figures = table_of(folder), json.loads(run("data", "info", folder, "--json").stdout)
    assert (lines["class c0"], lines["class c9"], lines["2 more classes"]) == ("40 (27.8 %)", "4 (2.8 %)", "5")
    assert "class c10" not in lines
    assert figures["class_sizes"][11] == {"name": "c11", "nodes": 2, "share": 2 / 144}
    assert (lines["edges listed"], lines["directions listed"]) == ("5", "both; one for 1 edges, symmetrized")
    assert (lines["edge weights"], lines["repeated edges merged"], lines["self-loops dropped"]) == ("yes", "1", "1")
    assert figures["edge_facts"] == {
        "given": 5, "one_directional": 1, "duplicates": 1, "self_loops": 1, "weighted": True
    }  # fmt: skip
    assert lines["features"] == "3"
    assert lines["column income"] == "number, 0 to 143000"
    assert (lines["column sex"], lines["column planet"]) == ("number, 0 to 1", "constant, 7 to 7")
    assert figures["columns"][2] == {"name": "planet", "kind": "constant", "missing": 0, "about": "7 to 7"}
    # The default split cannot be drawn, which is no reason to say nothing.
    assert lines["split"].startswith("none: class 'c11' has 2 labeled nodes, too few")
    assert (figures["split"], figures["default_split"]) == (None, "stratified")
    assert figures["split_problem"].startswith("class 'c11' has 2")
    asked = run("data", "info", folder, "--split", "stratified")
    assert (asked.exit_code, "class 'c11' has 2 labeled nodes" in asked.stderr) == (2, True)


def test_info_tells_of_the_features_of_an_array(tmp_path: Path) -> None:
    x = np.stack([1000.0 * np.arange(100), np.arange(100) % 2, np.full(100, 7.0)], axis=1)
    edges = np.stack([np.arange(99), np.arange(1, 100)], axis=1)
    np.savez_compressed(tmp_path / "mine.npz", node_features=x, node_labels=np.arange(100) % 2, edges=edges)
    lines = table_of(tmp_path / "mine.npz")
    figures = json.loads(run("data", "info", tmp_path / "mine.npz", "--json").stdout)
    assert (lines["features"], lines["constant features"]) == ("3", "1")
    assert lines["feature entries that are not zero"] == f"{100 * (99 + 50 + 100) / (3 * 100):.1f} %"
    deviation = 1000 * np.arange(100).std()
    assert lines["feature standard deviations"] == f"0.5 to {deviation:.3g}, a factor of {2 * deviation:,.3g}"
    assert figures["scale_spread"] == pytest.approx(2 * deviation)


def test_info_tells_how_edges_were_listed(folder: Path) -> None:
    assert table_of(folder)["directions listed"] == "one, symmetrized"
    (folder / "edges.csv").write_text("source,target\nn0,n1\nn1,n0\n")
    assert table_of(folder)["directions listed"] == "both"
    assert table_of(folder)["edge weights"] == "no"


def test_info_names_the_classes_that_a_split_leaves_out(folder: Path) -> None:
    lines = table_of(folder)
    assert lines["default split"] == "given"
    assert lines["classes without a validation node"] == "1"
    assert "classes without a training node" not in lines
    figures = json.loads(run("data", "info", folder, "--json").stdout)
    assert figures["missing_classes"] == {"train": [], "val": ["1"], "test": []}


def test_info_without_labels_has_no_split(folder: Path) -> None:
    (folder / "nodes.csv").write_text("id,x\n" + "".join(f"n{i},{i}\n" for i in range(6)))
    assert table_of(folder)["split"] == "none: there are no labels"


def test_measures_without_a_value_say_so(folder: Path) -> None:
    (folder / "nodes.csv").write_text("id,x\n" + "".join(f"n{i},{i}\n" for i in range(6)))
    assert "edge homophily                       not defined" in run("data", "info", folder).stdout
    assert json.loads(run("data", "info", folder, "--json").stdout)["edge_homophily"] is None


@needs_data
def test_info_warns_of_chameleon() -> None:
    result = run("data", "info", "chameleon", "--split", "48", "--data-dir", os.environ["UNIFILTER_DATA"])
    assert "47.6 %" in result.stdout
    assert "31,371" in result.stdout


def test_fetch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("data", "fetch", "karate", "--data-dir", tmp_path).stdout.startswith(
        "karate comes with an installed package"
    )
    asked: list[Any] = []

    def fake(name: str, data_dir: Path) -> tuple[Path, ...]:
        asked.append((name, data_dir))
        return (data_dir / "a.npz", data_dir / "b.npz")

    monkeypatch.setattr(data_commands, "fetch", fake)
    result = run("data", "fetch", "squirrel", "--data-dir", tmp_path)
    assert result.stdout.splitlines() == [str(tmp_path / "a.npz"), str(tmp_path / "b.npz")]
    as_json = json.loads(run("data", "fetch", "squirrel", "--data-dir", tmp_path, "--json").stdout)
    assert as_json == {"name": "squirrel", "files": result.stdout.splitlines()}
    assert asked == [("squirrel", tmp_path)] * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data", "info", "camelion"], "unifilter: no data set is named 'camelion': did you mean 'chameleon'"),
        (["data", "info", "./nowhere.pt"], "unifilter: there is no file or folder nowhere.pt: check the path"),
        (
            ["data", "info", "karate", "--split", "48"],
            "unifilter: 'karate' has no split '48': it has '60', ",
        ),
        (["data", "fetch", "camelion"], "unifilter: no data set is named 'camelion'"),
    ],
)
def test_bad_input_is_one_message_and_code_2(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_wrong_usage_is_code_2() -> None:
    assert run("data", "info").exit_code == 2
    assert run("data", "info", "karate", "--index", "two").exit_code == 2
    assert run("nonsense").exit_code == 2


def failing(error: BaseException) -> Any:
    def raise_it(*_: object) -> None:
        raise error

    return raise_it


def test_unexpected_errors_are_code_1_and_debug_shows_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_commands, "list_datasets", failing(ZeroDivisionError("oh dear")))
    result = run("data", "list")
    assert result.exit_code == 1
    assert result.stderr == "unifilter: ZeroDivisionError: oh dear (run `unifilter --debug ...` to see the traceback)\n"
    shown = run("--debug", "data", "list")
    assert shown.exit_code == 1
    assert "Traceback" in shown.stderr
    assert "raise_it" in shown.stderr
    assert shown.stderr.endswith("unifilter: ZeroDivisionError: oh dear\n")


def test_debug_shows_where_bad_input_was_found() -> None:
    result = run("--debug", "data", "info", "camelion")
    assert result.exit_code == 2
    assert "Traceback" in result.stderr


def test_an_interrupt_is_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_commands, "list_datasets", failing(KeyboardInterrupt()))
    result = run("data", "list")
    assert (result.exit_code, result.stdout) == (130, "")


def test_version() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"unifilter {unifilter.__version__}\n")


def test_help_names_the_commands() -> None:
    for name in ("list", "info", "fetch"):
        assert name in run("data", "--help").stdout
    assert "data" in run("--help").stdout


def test_the_package_is_a_command() -> None:
    command = [sys.executable, "-m", "unifilter", "data", "info", "camelion"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "did you mean 'chameleon'" in result.stderr


def test_a_terminal_gets_a_table_with_brackets_left_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    output.print_table([("a", "[red]x[/red]"), ("bb", "y")], header=("name", "what"))
    printed = capsys.readouterr().out
    assert "[red]x[/red]" in printed
    assert re.sub(r"\x1b\[[\d;]*m", " ", printed).split() == ["name", "what", "a", "[red]x[/red]", "bb", "y"]


def test_json_has_no_nan() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        output.print_json({"x": float(np.nan)})
