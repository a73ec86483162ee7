from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from unifilter import cli
from unifilter.datasets import load_dataset
from unifilter.methods import find_method
from unifilter.runs.run import Run


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, ["explain", *map(str, arguments)])


def test_a_data_set_becomes_a_page(tmp_path: Path) -> None:
    out = tmp_path / "explain.html"
    result = run("karate", "--out", out, "--hops", "4", "--tau", "0.7")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "karate: tau 0.7, homophily 0.859"
    assert lines[1].startswith("Labels sit at low frequencies")
    assert lines[-1] == str(out)
    page = out.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    data = json.loads(page.split('id="explanation">', 1)[1].split("</script>", 1)[0])
    assert (data["name"], data["hops"], data["tau"], data["nodes"]) == ("karate", 4, 0.7, 34)
    assert [one["name"] for one in data["labels"]["classes"]] == ["Mr. Hi", "Officer"]


def test_a_run_becomes_a_page(tmp_path: Path) -> None:
    built = find_method("unifilter").with_settings({"epochs": 3, "hops": 3, "homophily": 0.4})
    for _ in Run(tmp_path / "run", built, load_dataset("karate"), "60", 1).train(verbose=False):
        pass
    result = run(tmp_path / "run", "--out", tmp_path / "numbers.json", "--json")
    assert result.exit_code == 0
    numbers = json.loads(result.stdout)
    assert numbers == json.loads((tmp_path / "numbers.json").read_text())
    assert (numbers["name"], numbers["homophily"], numbers["splits"]) == ("karate, unifilter", 0.4, 1)


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_pictures(tmp_path: Path, ending: str, start: bytes) -> None:
    out = tmp_path / f"picture.{ending}"
    assert run("karate", "--out", out, "--hops", "2", "--features", "row").exit_code == 0
    assert out.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["camelion"], "no data set is named 'camelion'"),
        (["karate", "--out", "x.txt"], "--out cannot be a .txt: use one of .html, .json, .png, .pdf, .svg"),
        (["karate", "--out", "x"], "--out cannot be a file without an extension"),
        (["karate", "--tau", "2"], "tau must lie in [0, 1]"),
        (["karate", "--out", "nowhere/x.html"], "there is no folder nowhere"),
    ],
)
def test_bad_input_is_one_message_and_code_2(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_data_without_labels_needs_a_homophily(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "nodes.csv").write_text("id,x\na,1\nb,2\nc,3\n")
    (folder / "edges.csv").write_text("source,target\na,b\nb,c\n")
    result = run(folder, "--out", tmp_path / "x.html")
    assert result.exit_code == 2
    assert "there are no labels to estimate the homophily from" in result.stderr
    assert run(folder, "--out", tmp_path / "x.html", "--homophily", "0.5").exit_code == 0
