from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from unifilter import UniFilterClassifier
from unifilter.data import NodeDataset
from unifilter.datasets.synthetic import contextual_sbm
from unifilter.estimators import fit
from unifilter.methods import Problem, Workspace, find_method
from unifilter.methods.uni_filter import UniFilterMethod
from unifilter.runs import Run, RunFolder
from unifilter.runs.record import record_of

OPEN = UniFilterMethod(hops=3, hidden_channels=8, epochs=6)
METHOD = OPEN.candidates()[0]
# Figures that say how a run went, not what came out of it.
TIMES = ("seconds", "peak_memory_mib")


def small() -> NodeDataset:
    return contextual_sbm(num_nodes=60, num_classes=3, homophily=0.8, average_degree=5, num_features=6, signal=2.0)


@pytest.fixture(scope="module")
def dataset() -> NodeDataset:
    return small()


def lasting(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in record.items() if name not in TIMES} for record in records]


def train(folder: Path, dataset: NodeDataset, count: int = 3, method: Any = METHOD, resume: bool = False) -> Run:
    run = Run(folder, method, dataset, "60", count, resume)
    assert len(list(run.train(verbose=False))) <= count
    return run


@pytest.fixture(scope="module")
def undisturbed(dataset: NodeDataset, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(tmp_path_factory.mktemp("runs") / "undisturbed", dataset)


def test_a_run_folder_says_all_about_it(undisturbed: Run, dataset: NodeDataset) -> None:
    folder = undisturbed.folder
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.json",
        "history",
        "model.unifilter",
        "splits.csv",
        "splits.json",
        "weights.csv",
    ]
    config = json.loads((folder / "config.json").read_text())
    assert (config["checksum"], config["split"], config["method"]) == (dataset.checksum, "random-60-20-20", "unifilter")
    assert config["settings"] == METHOD.settings()
    records = json.loads((folder / "splits.json").read_text())
    assert records == undisturbed.records
    assert [record["index"] for record in records] == [0, 1, 2]
    with (folder / "splits.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row, record in zip(rows, records, strict=True):
        assert row["checksum"] == dataset.checksum
        assert float(row["test_accuracy"]) == record["test_accuracy"]
    with (folder / "weights.csv").open(newline="") as file:
        header, *values = csv.reader(file)
    assert header == ["split", "hop_0", "hop_1", "hop_2", "hop_3"]
    assert [[float(value) for value in row[1:]] for row in values] == [record["weights"] for record in records]
    history = np.loadtxt(folder / "history" / "split-1.csv", delimiter=",", skiprows=1)
    assert history[records[1]["best_epoch"], 0] == records[1]["best_epoch"]
    assert history[records[1]["best_epoch"], 3] == records[1]["val_accuracy"] == history[:, 3].max()
    summary = undisturbed.summary()
    test = [record["test_accuracy"] for record in records]
    assert summary["scores"]["test_accuracy"] == {
        "mean": pytest.approx(np.mean(test)),
        "std": pytest.approx(np.std(test)),
    }
    assert (summary["done"], summary["splits"]) == (3, 3)


def test_the_model_is_that_of_the_best_validation_score(undisturbed: Run, dataset: NodeDataset) -> None:
    best = max(undisturbed.records, key=lambda record: record["val_accuracy"])
    clf = UniFilterClassifier.load(undisturbed.folder / "model.unifilter")
    np.testing.assert_allclose(clf.weights_, best["weights"], atol=1e-6)
    assert clf.classes_.tolist() == ["0", "1", "2"]
    names = np.array(["0", "1", "2"])[dataset.labels.numpy()]
    test = dataset.split("60", best["index"]).test
    score = clf.score(names, nodes=test, graph=dataset.graph, x=dataset.features)
    assert score == pytest.approx(best["test_accuracy"], abs=0.5 / len(test))
    assert {name: getattr(clf, name) for name in METHOD.settings()} == METHOD.settings()


_KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import test_run
from unifilter.training import trainer

trainer._SECONDS_PER_CHECKPOINT = 0.0  # after every epoch
original, calls = trainer._validate, iter(range(1000))

def then_kill(*arguments):
    if next(calls) == 6 + 4:  # in the fifth epoch of the second split
        os.kill(os.getpid(), signal.SIGKILL)
    return original(*arguments)

trainer._validate = then_kill
test_run.train(Path(sys.argv[1]), test_run.small())
"""


def test_a_killed_run_goes_on_as_if_nothing_had_happened(
    undisturbed: Run, dataset: NodeDataset, tmp_path: Path
) -> None:
    folder = tmp_path / "killed"
    tests = str(Path(__file__).parent)
    killed = subprocess.run([sys.executable, "-c", _KILLED, folder, tests], timeout=120, cwd=tests, check=False)
    assert killed.returncode == -9
    assert [record["index"] for record in json.loads((folder / "splits.json").read_text())] == [0]
    _, _, state = (folder / "checkpoints" / "split-1.pt").read_bytes().split(b"\n", 2)
    assert torch.load(io.BytesIO(state), weights_only=True)["history"]["loss"]
    # With more splits than before, it is still the same run.
    resumed = train(folder, dataset, count=3, resume=True)
    assert lasting(resumed.records) == lasting(undisturbed.records)
    for name in ("weights.csv", "history/split-1.csv", "model.unifilter"):
        assert (folder / name).read_bytes() == (undisturbed.folder / name).read_bytes(), name
    assert not (folder / "checkpoints").exists()
    assert not [path for path in folder.rglob("*") if path.name.startswith(".")]


def test_what_was_left_open_is_in_the_records(dataset: NodeDataset, tmp_path: Path) -> None:
    run = train(tmp_path / "open", dataset, count=2, method=OPEN)
    tried = [method.settings() for method in OPEN.candidates()]
    assert len(tried) > 1
    assert all(record["settings"] in tried for record in run.records)
    assert run.config["settings"]["dropout"] is None
    assert not (run.folder / "checkpoints").exists()


def test_a_checkpoint_is_of_the_same_run_whatever_the_number_of_splits(dataset: NodeDataset, tmp_path: Path) -> None:
    few, more = (Run(tmp_path / str(n), METHOD, dataset, "60", n) for n in (1, 3))
    assert few.fingerprint == more.fingerprint
    other = Run(tmp_path / "other", UniFilterMethod(hops=2), dataset, "60", 1)
    assert other.fingerprint != few.fingerprint


def test_a_run_can_be_resumed_with_more_splits(undisturbed: Run, dataset: NodeDataset, tmp_path: Path) -> None:
    first = train(tmp_path / "run", dataset, count=1)
    assert first.summary()["done"] == 1
    more = train(tmp_path / "run", dataset, count=3, resume=True)
    assert lasting(more.records) == lasting(undisturbed.records)
    assert more.records[0] == first.records[0]


def test_a_folder_that_is_there_is_not_touched(undisturbed: Run, dataset: NodeDataset, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the folder .*undisturbed exists: pass resume=True to continue"):
        train(undisturbed.folder, dataset)
    (tmp_path / "mine").mkdir()
    assert train(tmp_path / "mine", dataset, count=1).records  # an empty folder is as good as none
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").touch()
    with pytest.raises(ValueError, match=r"notes contains no run \(it has no config.json\): pass another folder"):
        train(tmp_path / "notes", dataset, resume=True)
    with pytest.raises(ValueError, match=r"a.txt is a file: pass another folder"):
        train(tmp_path / "notes" / "a.txt", dataset, resume=True)
    assert [path.name for path in (tmp_path / "notes").iterdir()] == ["a.txt"]


def test_another_run_is_not_resumed(undisturbed: Run, dataset: NodeDataset) -> None:
    folder = undisturbed.folder
    before = (folder / "config.json").read_bytes()
    with pytest.raises(ValueError, match=r"has a different hops \(3, not 2\): resume it with its original arguments"):
        train(folder, dataset, method=UniFilterMethod(hops=2, hidden_channels=8, epochs=6), resume=True)
    with pytest.raises(ValueError, match=r"has a different method \(unifilter, not homfilter\)"):
        train(folder, dataset, method=find_method("homfilter").with_settings({"hops": 3}), resume=True)
    with pytest.raises(ValueError, match="has a different checksum"):
        train(folder, contextual_sbm(num_nodes=60, num_classes=3, seed=1), resume=True)
    with pytest.raises(ValueError, match=r"has a different split \(random-60-20-20, not stratified-60-20-20\)"):
        Run(folder, METHOD, dataset, "stratified", 1, resume=True)
    assert (folder / "config.json").read_bytes() == before


@pytest.mark.parametrize("name", ["config.json", "splits.json"])
def test_a_damaged_file_is_named(name: str, dataset: NodeDataset, tmp_path: Path) -> None:
    train(tmp_path / "run", dataset, count=1)
    (tmp_path / "run" / name).write_text('{"dataset": "contex')
    with pytest.raises(ValueError, match=rf"{name} is damaged .*: restore it, or start again in another folder"):
        train(tmp_path / "run", dataset, resume=True)


def test_methods_without_hop_weights_have_a_model_all_the_same(dataset: NodeDataset, tmp_path: Path) -> None:
    run = train(tmp_path / "run", dataset, count=1, method=find_method("sgc")(epochs=2, features="raw"))  # type: ignore[call-arg]
    assert run.records[0]["weights"] == []
    assert not (tmp_path / "run" / "weights.csv").exists()
    model = RunFolder(tmp_path / "run").model()
    assert model.method.name == "sgc"
    assert model.logits(dataset.graph, dataset.features).shape == (dataset.num_nodes, dataset.num_classes)


def test_weights_of_every_channel_are_no_row_of_a_table(dataset: NodeDataset, tmp_path: Path) -> None:
    run = train(tmp_path / "run", dataset, count=1, method=replace(METHOD, weights="channel"))
    assert run.records[0]["weights"] == []
    assert (tmp_path / "run" / "model.unifilter").exists()


def test_a_figure_that_only_some_records_have_is_a_column_too(dataset: NodeDataset, tmp_path: Path) -> None:
    run = Run(tmp_path / "run", METHOD, dataset, "60", 2)
    run.records = [{"index": 0, "weights": []}, {"index": 1, "weights": [], "test_roc_auc": 0.5}]
    run._write_records()
    assert (tmp_path / "run" / "splits.csv").read_text().split() == ["index,test_roc_auc", "0,", "1,0.5"]


def test_validation_nodes_that_were_learned_from_since_are_not_scored_again(dataset: NodeDataset) -> None:
    split = dataset.split("60")
    fitted = fit(METHOD, Problem(Workspace(dataset), split.train, split.val))
    plain = record_of(fitted, dataset, split)
    assert plain["val_accuracy"] == fitted.history.best_score
    fitted.history.val_score[fitted.history.best_epoch] = 0.125
    refit = record_of(replace(fitted, refit=True), dataset, split)
    assert (refit["val_accuracy"], "val_macro_f1" in refit) == (0.125, False)
    assert refit["test_macro_f1"] == plain["test_macro_f1"]


def test_more_splits_than_there_are(dataset: NodeDataset, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has 10 '60' splits, there is no number 10"):
        Run(tmp_path / "run", METHOD, dataset, "60", 11)
    assert not (tmp_path / "run").exists()
