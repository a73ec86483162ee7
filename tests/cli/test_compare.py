from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from unifilter.cli import app
from unifilter.datasets import load_dataset
from unifilter.methods import find_method, problem
from unifilter.runs.comparison import Compared, compare, plot_responses

RUN = CliRunner()


def test_methods_share_a_factorisation_and_show_their_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    factorize = problem.factorize
    monkeypatch.setattr(problem, "factorize", lambda *given: (calls.append(given), factorize(*given))[1])
    karate = load_dataset("karate")
    methods = [find_method(name)(epochs=3) for name in ("unifilter", "homfilter", "mlp")]
    results = compare(methods, karate, [karate.split("stratified", index) for index in range(2)])
    assert len(calls) == 1
    assert [len(result.records) for result in results] == [2, 2, 2]
    unifilter, homfilter, mlp = results
    assert mlp.response is None
    assert unifilter.response is not None
    assert unifilter.response.shape == (201,)
    assert homfilter.response is not None
    # At three epochs the weights are still near 1/11 each: at eigenvalue 0, where every power is 1, they sum to 1.
    assert homfilter.response[0] == pytest.approx(1, abs=0.3)


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
    [("unifilter,nonsense", "there is no method 'nonsense'"), (" , ", "--methods names nothing")],
)
def test_mistakes(tmp_path: Path, methods: str, message: str) -> None:
    done = RUN.invoke(app, ["compare", "karate", "--methods", methods, "--out", str(tmp_path / "o")])
    assert done.exit_code == 2
    assert message in done.stderr
    assert not (tmp_path / "o").exists()


def test_a_filter_of_zeros_can_be_drawn(tmp_path: Path) -> None:
    assert plot_responses([Compared("zero", [], np.zeros(201))], "zero", tmp_path / "p.png")
    assert (tmp_path / "p.png").exists()
    assert not plot_responses([Compared("none", [], None)], "none", tmp_path / "q.png")
