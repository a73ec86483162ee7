from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from unifilter import UniFilterClassifier, cli
from unifilter.data import NodeDataset
from unifilter.datasets import load_dataset
from unifilter.datasets.synthetic import contextual_sbm


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def write_graph(path: Path, **changes: int) -> NodeDataset:
    """A graph of 40 nodes with three classes, or another, and its .npz."""
    drawn = contextual_sbm(**{"num_nodes": 40, "num_classes": 3, "average_degree": 4, "num_features": 5, **changes})
    np.savez(
        path, node_features=drawn.features.numpy(), node_labels=drawn.labels.numpy(), edges=drawn.graph.edges()[0].T
    )
    return load_dataset(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph, an estimator's model, and a run."""
    folder = tmp_path_factory.mktemp("models")
    data = write_graph(folder / "graph.npz")
    names = np.array(["ape", "bee", "cat"])[data.labels.numpy()]
    clf = UniFilterClassifier(hops=2, hidden_channels=4, epochs=3, features="l2", self_loops="add")
    clf.fit(data.graph, data.features, names).save(folder / "model.unifilter")
    quick = ("--splits", "1", "--epochs", "3", "--hops", "2", "--features", "l2", "--set", "hidden_channels=4")
    result = run("train", folder / "graph.npz", *quick, "--out", folder / "run")
    assert result.exit_code == 0, result.output
    return folder


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_row_for_every_node(folder: Path, tmp_path: Path) -> None:
    data = write_graph(tmp_path / "other.npz", num_nodes=30, seed=1)
    out = tmp_path / "predictions.csv"
    result = run("predict", folder / "model.unifilter", tmp_path / "other.npz", "--out", out)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == str(out)
    rows = table(out)
    assert list(rows[0]) == ["node", "prediction", "probability_ape", "probability_bee", "probability_cat"]
    assert [row["node"] for row in rows] == [str(node) for node in range(30)]
    clf = UniFilterClassifier.load(folder / "model.unifilter")
    assert [row["prediction"] for row in rows] == clf.predict(graph=data.graph, x=data.features).tolist()
    found = [[float(row[f"probability_{name}"]) for name in ("ape", "bee", "cat")] for row in rows]
    np.testing.assert_allclose(found, clf.predict_proba(graph=data.graph, x=data.features), rtol=1e-5)
    counted = dict(line.split() for line in result.stdout.splitlines()[1:4])
    assert sum(map(int, counted.values())) == 30


def test_the_folder_of_a_run(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.csv"
    result = run("predict", folder / "run", folder / "graph.npz", "--out", out, "--json")
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    predicted = [row["prediction"] for row in table(out)]
    assert printed == {
        "model": str(folder / "run"),
        "graph": "graph",
        "nodes": 40,
        "predicted": {name: predicted.count(name) for name in ("0", "1", "2")},
        "remarks": printed["remarks"],  # a model of a few epochs may have learned nothing
        "out": str(out),
    }
    # Scaling and self-loops are those it was trained with.
    clf = UniFilterClassifier.load(folder / "run" / "model.unifilter")
    assert (clf.features, clf.self_loops) == ("l2", "remove")


def test_a_table_that_is_there_is_kept_unless_forced(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "predictions.csv"
    out.write_text("mine")
    command = ("predict", folder / "model.unifilter", folder / "graph.npz", "--out", out)
    refused = run(*command)
    assert refused.exit_code == 2
    assert f"{out} exists: pass --force to overwrite it, or another --out" in refused.stderr
    assert out.read_text() == "mine"
    assert run(*command, "--force").exit_code == 0
    assert len(table(out)) == 40
    assert [path.name for path in tmp_path.iterdir()] == ["predictions.csv"]
    into_folder = run(*command[:-1], tmp_path, "--force")
    assert (into_folder.exit_code, "is a folder: pass a file name" in into_folder.stderr) == (2, True)


def test_mistakes_end_with_2_and_leave_no_table(folder: Path, tmp_path: Path) -> None:
    content = (folder / "model.unifilter").read_bytes()
    (tmp_path / "part").write_bytes(content[:-20])
    (tmp_path / "changed").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    (tmp_path / "text").write_text("no model")
    (tmp_path / "unfinished").mkdir()
    write_graph(tmp_path / "wide.npz", num_features=6)
    model, graph, out = folder / "model.unifilter", folder / "graph.npz", tmp_path / "out.csv"
    for arguments, message in (
        ((tmp_path / "absent", graph), "there is no model file"),
        ((tmp_path / "part", graph), "is not a complete model file"),
        ((tmp_path / "text", graph), "is not a complete model file"),
        ((tmp_path / "changed", graph), "has changed since it was saved"),
        ((tmp_path / "unfinished", graph), "there is no model.unifilter in"),
        ((model, tmp_path / "absent.npz"), "there is no file or folder"),
        ((model, "nowhere"), "nowhere"),
        ((model, tmp_path / "wide.npz"), "x has 6 feature columns, but the model was trained on 5"),
    ):
        result = run("predict", *arguments, "--out", out)
        assert result.exit_code == 2, result.output
        assert message in result.stderr
        assert not out.exists()
    result = run("predict", model, graph, "--out", tmp_path / "absent" / "out.csv")
    assert (result.exit_code, "there is no folder" in result.stderr) == (2, True)


def test_a_weight_for_every_node_is_for_those_nodes_alone(folder: Path, tmp_path: Path) -> None:
    quick = ("--method", "linkx", "--splits", "1", "--epochs", "3", "--no-baseline")
    assert run("train", folder / "graph.npz", *quick, "--out", tmp_path / "run").exit_code == 0
    assert run("predict", tmp_path / "run", folder / "graph.npz", "--out", tmp_path / "same.csv").exit_code == 0
    assert len(table(tmp_path / "same.csv")) == 40
    write_graph(tmp_path / "other.npz", num_nodes=30)
    refused = run("predict", tmp_path / "run", tmp_path / "other.npz", "--out", tmp_path / "other.csv")
    assert refused.exit_code == 2
    assert "linkx has a weight for each of the 40 nodes it was trained on, and this graph has 30: train it" in (
        refused.stderr
    )
    assert not (tmp_path / "other.csv").exists()
