from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from unifilter.cli import app
from unifilter.runs import Compared

RUN = CliRunner()


def test_the_command_writes_a_table_and_a_picture(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    arguments = ["compare", "karate", "--methods", "homfilter,mlp", "--split", "stratified", "--epochs", "3"]
    done = RUN.invoke(app, [*arguments, "--out", str(folder), "--json"])
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert [entry["method"] for entry in answer["methods"]] == ["homfilter", "mlp"]
    with (folder / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["homfilter", "mlp"]
    assert float(rows[0]["test_accuracy"]) == answer["methods"][0]["mean"]
    with (folder / "responses.csv").open() as file:
        assert next(csv.reader(file)) == ["eigenvalue", "homfilter"]
    assert (folder / "responses.png").stat().st_size > 5000
    again = RUN.invoke(app, [*arguments, "--out", str(folder)])
    assert again.exit_code == 2
    assert f"the folder {folder} exists" in again.stderr


def test_a_table_for_people(tmp_path: Path) -> None:
    done = RUN.invoke(
        app,
        [
            "compare",
            "karate",
            "--methods",
            "mlp",
            "--split",
            "stratified",
            "--epochs",
            "2",
            "--out",
            str(tmp_path / "o"),
        ],
    )
    assert done.exit_code == 0, done.output
    assert "test accuracy" in done.stdout
    assert "±" in done.stdout
    assert not (tmp_path / "o" / "responses.png").exists()  # a perceptron has no filter to draw


@pytest.mark.parametrize(
    ("methods", "message"),
    [("unifilter,nonsense", "there is no method 'nonsense'"), (" , ", "--methods lists no method")],
)
def test_mistakes(tmp_path: Path, methods: str, message: str) -> None:
    done = RUN.invoke(app, ["compare", "karate", "--methods", methods, "--out", str(tmp_path / "o")])
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (tmp_path / "o").exists()


def rare_class(path: Path) -> str:
    """A file with two classes, one of ten nodes in a hundred."""
    rng = np.random.default_rng(0)
    arrays = {"node_features": rng.random((100, 3)), "node_labels": np.arange(100) // 90}
    np.savez_compressed(path, edges=rng.integers(0, 100, (300, 2)), **arrays)
    return str(path)


def test_a_score_that_leaves_a_class_out_is_refused_or_marked(tmp_path: Path) -> None:
    arguments = ["compare", rare_class(tmp_path / "mine.npz"), "--methods", "mlp,sgc", "--epochs", "2", "--out"]
    refused = RUN.invoke(app, [*arguments, str(tmp_path / "a"), "--split", "60"])
    assert refused.exit_code == 2
    assert "class 1 has 10 labeled nodes, but no validation or test node" in refused.stderr
    allowed = ["--split", "60", "--allow-missing-classes"]
    marked = RUN.invoke(app, [*arguments, str(tmp_path / "b"), *allowed])
    assert marked.exit_code == 0, marked.output
    assert len(re.findall(r"  \d+\.\d\d\* ± 0\.00  ", marked.stdout)) == 2
    assert "\n* no test node of class '1': the score says nothing about it\n" in marked.stdout
    with (tmp_path / "b" / "results.csv").open() as file:
        assert [row["untested_classes"] for row in csv.DictReader(file)] == ["1", "1"]
    answer = json.loads(RUN.invoke(app, [*arguments, str(tmp_path / "c"), *allowed, "--json"]).stdout)
    assert [entry["untested_classes"] for entry in answer["methods"]] == [["1"], ["1"]]
    honest = json.loads(RUN.invoke(app, [*arguments, str(tmp_path / "d"), "--json"]).stdout)
    assert [entry["records"][0]["split"] for entry in honest["methods"]] == ["stratified-60-20-20"] * 2
    assert "untested_classes" not in honest["methods"][0]


def test_a_score_that_no_split_has() -> None:
    compared = Compared("mlp", [{"test_accuracy": 1.0}, {"test_accuracy": 0.5, "test_roc_auc": 0.8}], None)
    assert compared.mean_and_std("test_accuracy") == (0.75, 0.25)
    assert compared.mean_and_std("test_roc_auc") == (0.8, 0)
    assert compared.mean_and_std("test_f1") is None


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_a_table_to_be_pasted_is_all_that_is_printed(form: str, tmp_path: Path) -> None:
    folder = tmp_path / "o"
    command = ["compare", "karate", "--methods", "mlp", "--split", "stratified", "--epochs", "2"]
    done = RUN.invoke(app, [*command, "--out", str(folder), "--format", form])
    assert done.exit_code == 0, done.output
    first, last = {"markdown": ("karate, stratified", "|"), "latex": ("% \\usepackage{booktabs}", "\\end{table}")}[form]
    assert done.stdout.startswith(first)
    assert done.stdout.rstrip().endswith(last)
    assert ("test accuracy %" if form == "markdown" else r"test accuracy \%") in done.stdout
    assert str(folder) in done.stderr
