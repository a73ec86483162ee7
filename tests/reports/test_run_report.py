from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from unifilter.data import NodeDataset, describe
from unifilter.datasets.synthetic import contextual_sbm
from unifilter.methods import find_method
from unifilter.reports import next_steps, report_run, verdict, write_report
from unifilter.runs import Run

SETTINGS = {"hops": 2, "hidden_channels": 8, "epochs": 30, "dropout": 0.0, "basis_dropout": 0.0, "lr": 0.01}


@pytest.fixture(scope="module")
def data() -> NodeDataset:
    return contextual_sbm(num_nodes=150, num_classes=3, homophily=0.8, average_degree=6, num_features=6, signal=2.0)


def finished(folder: Path, data: NodeDataset, method: str = "unifilter", splits: int = 2, **settings: object) -> Run:
    built = find_method(method).preset(None, task=data.task, metric=data.metric, **settings)
    run = Run(folder, built, data, "stratified", splits)
    for _ in run.train(verbose=False):
        pass
    return run


@pytest.fixture(scope="module")
def run(data: NodeDataset, tmp_path_factory: pytest.TempPathFactory) -> Run:
    done = finished(tmp_path_factory.mktemp("run") / "a", data, **SETTINGS, batch_norm=False, weight_decay=5e-4)
    done.train_without_graph(verbose=False)
    return done


def test_numbers_are_those_of_the_records(run: Run, data: NodeDataset) -> None:
    report = report_run(run, "unifilter train mine")
    json.dumps(report, allow_nan=False)
    model, mlp, constant = report["scores"]
    assert model["values"] == [record["test_accuracy"] for record in run.records]
    assert model["mean"] == np.mean(model["values"])
    assert mlp["values"] == [record["details"]["without_graph"] for record in run.records]
    counts = np.array(report["confusion"]["counts"])
    tested = sum(len(split.test) for split in run.splits)
    assert counts.sum() == tested
    assert np.trace(counts) / tested == pytest.approx(model["mean"])
    for row, one in zip(counts, report["classes"], strict=True):
        assert (one["support"], one["name"]) == (row.sum(), data.class_values[report["classes"].index(one)])
    recalls = [one["recall"] for one in report["classes"]]
    np.testing.assert_allclose(recalls, np.diag(counts) / counts.sum(axis=1))
    assert sum(one["count"] for one in report["calibration"]["bins"]) == tested
    # Always the most frequent of three equally large classes.
    assert constant["mean"] == pytest.approx(1 / 3, abs=0.01)
    assert 0 <= report["sets"]["coverage"] <= 1
    assert (report["dataset"]["nodes"], report["dataset"]["edges"]) == (150, describe(data).edges)
    assert len(report["spectrum"]["weight"]) == len(report["importance"]["hops"]) == 3
    assert len(verdict(report)) == 2
    assert next_steps(report)


def test_both_files_are_written_and_agree(run: Run) -> None:
    report = write_report(run)
    assert json.loads((run.folder / "report.json").read_text()) == report
    page = (run.folder / "report.html").read_text()
    assert verdict(report)[0].split(":")[0] in page


def test_a_collapsed_model_is_said_to_have_learned_nothing(data: NodeDataset, tmp_path: Path) -> None:
    blank = NodeDataset("blank", data.graph, torch.zeros(150, 4), data.labels)
    run = finished(tmp_path / "a", blank, "mlp", 1, epochs=2)
    report = write_report(run)
    assert report["nothing_learned"]
    assert verdict(report)[0].startswith("The model learned nothing")
    assert any("learned nothing" in said for said in report["warnings"])
    assert run.summary()["nothing_learned"] == [0]
    assert [one["role"] for one in report["scores"]] == ["model", "majority"]


def test_a_method_without_a_filter_has_importance_by_permutation(data: NodeDataset, tmp_path: Path) -> None:
    report = write_report(finished(tmp_path / "a", data, "mlp", 1, epochs=20))
    assert report["spectrum"] is None
    assert report["importance"]["hops"] is None
    assert len(report["importance"]["features"]) == 6


@pytest.mark.parametrize("method", ["evennet", "gprgnn", "appnp", "ufg"])
def test_a_filter_on_another_basis_is_shown_by_its_response(data: NodeDataset, tmp_path: Path, method: str) -> None:
    settings = {"features": "raw", "hops": 4, "hidden_channels": 8, "epochs": 10}
    spectrum = write_report(finished(tmp_path / "a", data, method, 2, **settings))["spectrum"]
    assert (spectrum["weight"], spectrum["frequency"]) == ([], [])
    assert len(spectrum["response"]) == len(spectrum["lam"])


def test_numbers_have_residuals_instead_of_classes(data: NodeDataset, tmp_path: Path) -> None:
    target = data.features[:, :1].double() * 7 + 100
    numbers = NodeDataset(
        "numbers", data.graph, data.features, torch.full((150,), -1), task="regression", targets=target
    )
    run = finished(tmp_path / "a", numbers, hops=2, epochs=60)
    run.train_without_graph(verbose=False)
    report = write_report(run)
    assert (report["metric"], report["classes"], report["confusion"], report["calibration"]) == ("r2", [], None, None)
    assert list(report["residuals"]["quantiles"]) == ["5", "25", "50", "75", "95"]
    assert len(report["residuals"]["points"]) == len(run.splits[0].test)
    assert report["scores"][0]["mean"] > 0.5 > report["scores"][2]["mean"]


def test_several_labels(data: NodeDataset, tmp_path: Path) -> None:
    labels = torch.nn.functional.one_hot(data.labels, 3).double()
    many = NodeDataset(
        "many", data.graph, data.features, torch.full((150,), -1), task="multilabel", targets=labels,
        target_names=("a", "b", "c"),
    )  # fmt: skip
    report = write_report(finished(tmp_path / "a", many, "sgc", 2, epochs=30))
    assert [one["name"] for one in report["classes"]] == ["a", "b", "c"]
    assert report["scores"][0]["mean"] > report["scores"][-1]["mean"]


def test_a_run_that_was_never_trained_has_no_report(data: NodeDataset, tmp_path: Path) -> None:
    run = Run(tmp_path / "a", find_method("mlp")(), data, "stratified", 1)
    with pytest.raises(ValueError, match="has no finished split yet"):
        report_run(run)


def test_weights_of_classes_are_part_of_a_run(data: NodeDataset, tmp_path: Path) -> None:
    run = Run(tmp_path / "a", find_method("mlp")(epochs=2), data, "stratified", 1, class_weight="balanced")
    list(run.train(verbose=False))
    assert run.config["class_weight"] == "balanced"
    with pytest.raises(ValueError, match="has a different class_weight"):
        Run(tmp_path / "a", find_method("mlp")(epochs=2), data, "stratified", 1, resume=True)
    with pytest.raises(ValueError, match="class_weight must be one of 'balanced', not 'even'"):
        Run(tmp_path / "b", find_method("mlp")(), data, "stratified", 1, class_weight="even")  # type: ignore[arg-type]
