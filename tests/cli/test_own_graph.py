"""A data scientist's own tables, from the first look at them to predictions of nodes that came later."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from real_graphs import needs_data
from transfer_tables import TransferTables, transfer_tables
from typer.testing import CliRunner, Result

from unifilter import cli

# Some values are of nodes outside the training set alone: they are treated as (other), and a line on stderr says so.
pytestmark = pytest.mark.filterwarnings("default::unifilter.data.DataWarning")

QUICK = ("--method", "sgc", "--splits", "2", "--epochs", "20")
FILTER = ("--splits", "2", "--epochs", "20", "--set", "batch_norm=false", "--set", "dropout=0", "--set", "lr=0.01")
FILTER += ("--set", "basis_dropout=0", "--set", "weight_decay=0", "--set", "hidden_channels=16")
COLLAPSED = ("--set", "weight_decay=1")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def succeed(*arguments: str | Path) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def train(folder: Path, out: Path, *options: str, baseline: bool = False) -> Result:
    return succeed("train", folder, "--out", out, *options, *([] if baseline else ["--no-baseline"]))


def report(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "report.json").read_text(encoding="utf-8"))
    return found


def predictions(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(folder: Path, nodes: pd.DataFrame, edges: pd.DataFrame) -> Path:
    """Tables as they are, without the habits of a spreadsheet."""
    folder.mkdir(parents=True)
    nodes.to_csv(folder / "nodes.csv", index=False)
    edges.to_csv(folder / "edges.csv", index=False)
    return folder


def info(folder: Path) -> dict[str, str]:
    """The lines of ``data info``."""
    lines = [re.split(r" {2,}", line, maxsplit=1) for line in succeed("data", "info", folder).stdout.splitlines()]
    return {line[0]: line[-1] for line in lines}


@pytest.fixture(scope="module")
def tables() -> TransferTables:
    return transfer_tables()


@pytest.fixture(scope="module")
def bank(tables: TransferTables, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tables.write(tmp_path_factory.mktemp("own") / "bank")


@pytest.fixture(scope="module")
def noise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return transfer_tables(signal=0.0).write(tmp_path_factory.mktemp("own") / "noise")


@pytest.fixture(scope="module")
def numbers(tables: TransferTables, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A number to predict, that the columns tell; unknown at some nodes."""
    nodes = tables.nodes.drop(columns="label")
    target = np.log(nodes["volume"]) + nodes["business"]
    target[::50] = np.nan
    return write(tmp_path_factory.mktemp("own") / "numbers", nodes.assign(target=target), tables.edges)


@pytest.fixture(scope="module")
def labels(tables: TransferTables, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two labels that a node can have or not; one is unknown at some nodes."""
    nodes = tables.nodes.drop(columns="label")
    young = (nodes["age"] < 45).astype(object)
    young[nodes["age"].isna()] = None
    nodes = nodes.assign(**{"label:young": young, "label:rich": (nodes["volume"] > 1000).astype(int)})
    return write(tmp_path_factory.mktemp("own") / "labels", nodes, tables.edges)


@pytest.fixture(scope="module")
def trained(bank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "bank"
    train(bank, out, *QUICK)
    return out


@pytest.fixture(scope="module")
def collapsed(noise: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The run of a model that has learned nothing, and what was printed."""
    out = tmp_path_factory.mktemp("runs") / "collapsed"
    return out, train(noise, out, *QUICK, *COLLAPSED).stdout


class TestSplits:
    def test_the_default_is_in_proportion_in_every_command(self, bank: Path, tmp_path: Path) -> None:
        assert info(bank)["default split"] == "stratified"
        compared = succeed("compare", bank, "--methods", "sgc,mlp", "--epochs", "5", "--out", tmp_path / "c", "--json")
        splits = {record["split"] for one in json.loads(compared.stdout)["methods"] for record in one["records"]}
        tuned = succeed("tune", bank, "--method", "sgc", "--trials", "2", "--epochs", "5", "--json")
        printed = train(bank, tmp_path / "run", *QUICK, "--json").stdout
        assert splits == {json.loads(printed)["split"]} == {"stratified-60-20-20"}
        assert json.loads(tuned.stdout)["split"] == "stratified"

    def test_noise_does_not_look_like_knowledge(self, tmp_path: Path) -> None:
        """Neither where classes are as rare as mules nor where both are frequent."""
        tables = transfer_tables(signal=0.0, seed=1)
        even = tables.nodes.assign(label=np.where(np.random.default_rng(0).random(600) < 0.5, "a", "b"))
        for name, nodes in (("rare", tables.nodes), ("even", even)):
            folder = TransferTables(nodes, tables.edges).write(tmp_path / name)
            train(folder, tmp_path / f"run-{name}", *QUICK)
            found = report(tmp_path / f"run-{name}")
            assert abs(found["metrics"]["balanced_accuracy"]["mean"] - 0.5) < 0.15
            assert all(one["support"] > 0 for one in found["classes"])

    @pytest.mark.parametrize("command", ["train", "compare", "tune"])
    def test_a_split_that_leaves_a_class_out_is_refused(self, command: str, bank: Path, tmp_path: Path) -> None:
        chosen = {"compare": ("--methods", "sgc"), "tune": ("--method", "sgc", "--trials", "2"), "train": QUICK}
        result = run(
            command, bank, "--split", "60", *chosen[command], *(["--out", tmp_path / "o"] * (command != "tune"))
        )
        assert result.exit_code == 2
        assert "class 'mule' has 19 labeled nodes, but no validation or test node" in result.stderr
        assert "pass --split stratified" in result.stderr
        assert "--allow-missing-classes" in result.stderr

    def test_where_the_user_insists_every_score_is_marked(self, bank: Path, tmp_path: Path) -> None:
        insist = ("--split", "60", "--allow-missing-classes")
        printed = train(bank, tmp_path / "run", *QUICK, *insist).stdout
        assert "* no test node of class 'mule': the score says nothing about it" in printed
        assert any("No test node of class 'mule'" in one for one in report(tmp_path / "run")["warnings"])
        assert "No test node of class" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
        compared = succeed(
            "compare", bank, "--methods", "sgc", "--epochs", "5", "--out", tmp_path / "c", *insist
        ).stdout
        assert re.search(r"^sgc +\d+\.\d\d\* ", compared, flags=re.MULTILINE)

    @needs_data
    def test_a_named_benchmark_keeps_the_split_of_the_literature(self) -> None:
        assert json.loads(succeed("data", "info", "cora", "--json").stdout)["default_split"] == "60"


class TestPredict:
    def test_it_starts_with_the_users_ids(
        self, trained: Path, bank: Path, tables: TransferTables, tmp_path: Path
    ) -> None:
        succeed("predict", trained, bank, "--out", tmp_path / "p.csv")
        rows = predictions(tmp_path / "p.csv")
        assert list(rows[0]) == ["id", "prediction", "probability_mule", "probability_normal"]
        assert [row["id"] for row in rows] == tables.nodes["id"].tolist()

    def test_reordered_columns_change_nothing(
        self, trained: Path, bank: Path, tables: TransferTables, tmp_path: Path
    ) -> None:
        turned = TransferTables(tables.nodes[tables.nodes.columns[::-1]], tables.edges).write(tmp_path / "turned")
        for name, folder in (("a", bank), ("b", turned)):
            succeed("predict", trained, folder, "--out", tmp_path / f"{name}.csv")
        assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()

    def test_a_renamed_category_is_unknown_and_counted(
        self, trained: Path, bank: Path, tables: TransferTables, tmp_path: Path
    ) -> None:
        nodes = tables.nodes.assign(city=tables.nodes["city"].replace("Berlin", "Spree-Athen"))
        renamed = TransferTables(nodes, tables.edges).write(tmp_path / "renamed")
        succeed("predict", trained, bank, "--out", tmp_path / "a.csv")
        result = succeed("predict", trained, renamed, "--out", tmp_path / "b.csv")
        assert (tmp_path / "a.csv").read_bytes() != (tmp_path / "b.csv").read_bytes()
        said = re.search(r"column 'city': (\d+) of 600 rows have a value that does not occur in", result.stderr)
        assert said is not None
        assert int(said[1]) >= (nodes["city"] == "Spree-Athen").sum()
        assert "'Spree-Athen'" in result.stderr
        assert "they are treated as (other)" in result.stderr

    def test_missing_and_extra_columns_are_named_together(
        self, trained: Path, tables: TransferTables, tmp_path: Path
    ) -> None:
        nodes = tables.nodes.rename(columns={"age": "years"}).drop(columns="opened")
        result = run("predict", trained, TransferTables(nodes, tables.edges).write(tmp_path / "other"))
        assert result.exit_code == 2
        assert "nodes.csv lacks the columns 'age', 'opened', which training had" in result.stderr
        assert "nodes.csv has the column 'years', which training did not have" in result.stderr

    def test_a_node_that_came_later_is_predicted(self, trained: Path, tables: TransferTables, tmp_path: Path) -> None:
        new = tables.nodes.iloc[[0]].assign(id="acc-new", label=None)
        edge = tables.edges.iloc[[0]].assign(source="acc-new")
        grown = TransferTables(pd.concat([tables.nodes, new]), pd.concat([tables.edges, edge])).write(
            tmp_path / "grown"
        )
        succeed("predict", trained, grown, "--out", tmp_path / "p.csv")
        last = predictions(tmp_path / "p.csv")[-1]
        assert last["id"] == "acc-new"
        assert float(last["probability_mule"]) + float(last["probability_normal"]) == pytest.approx(1, abs=1e-5)

    def test_new_data_needs_no_labels(self, trained: Path, tables: TransferTables, tmp_path: Path) -> None:
        folder = TransferTables(tables.nodes.drop(columns="label"), tables.edges).write(tmp_path / "new")
        assert "600" in info(folder)["nodes"]
        succeed("predict", trained, folder, "--out", tmp_path / "p.csv")
        assert len(predictions(tmp_path / "p.csv")) == 600


class TestTables:
    def test_columns_of_different_scale_cost_nothing(self, tmp_path: Path) -> None:
        """Two columns decide, and are thousands of times smaller than two that do not."""
        rng = np.random.default_rng(0)
        x = rng.standard_normal((800, 4))
        edges = pd.DataFrame({"source": rng.integers(0, 800, 1600), "target": rng.integers(0, 800, 1600)})
        label = np.where(x[:, 0] + x[:, 1] > 0, "yes", "no")
        scores = {}
        for name, scale in (("mixed", [0.001, 0.002, 5000.0, 90000.0]), ("standardized", [1.0] * 4)):
            nodes = pd.DataFrame(x * scale + np.array(scale), columns=list("abcd")).assign(id=range(800), label=label)
            folder = write(tmp_path / name, nodes, edges)
            train(folder, tmp_path / f"run-{name}", "--method", "mlp", "--splits", "2", "--epochs", "60")
            scores[name] = report(tmp_path / f"run-{name}")["metrics"]["accuracy"]["mean"]
        assert scores["mixed"] == pytest.approx(scores["standardized"], abs=0.02)
        assert scores["mixed"] > 0.9

    def test_all_problems_of_both_files_are_one_error(self, tables: TransferTables, tmp_path: Path) -> None:
        nodes = tables.nodes.astype({"age": object, "volume": object})
        nodes.loc[3, "age"] = "old"
        nodes.loc[5, "volume"] = "1.200,50"
        nodes.loc[8, "id"] = nodes.loc[7, "id"]
        nodes["note"] = [f"free text {row}" for row in range(len(nodes))]
        edges = tables.edges.copy()
        edges.loc[2, "target"] = "acc-nowhere"
        edges.loc[4, "weight"] = -1
        result = run("train", write(tmp_path / "broken", nodes, edges), "--out", tmp_path / "run", *QUICK)
        assert result.exit_code == 2
        for said in ("'age'", "'volume'", "'note'", f"id {nodes.loc[7, 'id']!r}", "'acc-nowhere'", "negative weight"):
            assert said in result.stderr, said
        assert not (tmp_path / "run").exists()

    def test_what_data_info_tells(self, bank: Path, tables: TransferTables) -> None:
        told = info(bank)
        assert (told["class normal"], told["class mule"]) == ("581 (96.8 %)", "19 (3.2 %)")
        assert told["column volume"].startswith("number, ")  # "1,200.50" is understood
        assert told["column age"].endswith(f", {tables.nodes['age'].isna().sum()} missing")
        assert told["column opened"].startswith("date, 2012-01-0")
        assert told["column city"].startswith("category, ")
        assert told["column business"] == "category, 2 categories"
        assert told["edges listed"] == f"{len(tables.edges):,}"
        assert told["edge weights"] == "yes"
        assert told["directions listed"].endswith("edges, symmetrized")
        pairs = {frozenset(pair) for pair in zip(tables.edges["source"], tables.edges["target"], strict=True)}
        assert told["edges"] == f"{len(pairs):,}"
        repeated = len(tables.edges) - len(set(zip(tables.edges["source"], tables.edges["target"], strict=True)))
        assert told["repeated edges merged"] == str(repeated)

    def test_nothing_to_learn_from(self, tables: TransferTables, tmp_path: Path) -> None:
        folder = TransferTables(tables.nodes.drop(columns="label"), tables.edges).write(tmp_path / "mine")
        result = run("train", folder, "--out", tmp_path / "run", *QUICK)
        assert result.exit_code == 2
        assert "'mine' has no labels, so it cannot be split" in result.stderr
        assert "a column label, target or label:NAME" in result.stderr

    def test_scalings_of_arrays_are_not_for_tables(self, bank: Path, tmp_path: Path) -> None:
        result = run("train", bank, "--features", "standard", "--out", tmp_path / "run", *QUICK)
        assert result.exit_code == 2
        assert "--features scales arrays, but 'bank' is a table" in result.stderr


class TestCollapse:
    def test_train_says_so_and_the_report_too(self, collapsed: tuple[Path, str]) -> None:
        out, printed = collapsed
        assert "The model learned nothing: its accuracy is 96.7 %" in printed
        assert "It predicts 'normal' for every node: it has learned nothing." in printed
        assert report(out)["nothing_learned"] is True
        assert "learned nothing" in (out / "report.html").read_text(encoding="utf-8")

    def test_predict_and_explain_say_so(self, collapsed: tuple[Path, str], noise: Path, tmp_path: Path) -> None:
        predicted = succeed("predict", collapsed[0], noise, "--out", tmp_path / "p.csv")
        assert "warning: It predicts 'normal' for every node: it has learned nothing." in predicted.stderr
        explained = succeed("explain", collapsed[0], "--out", tmp_path / "e.html")
        assert explained.stdout.splitlines()[1] == "It predicts 'normal' for every node: it has learned nothing."
        assert "learned nothing" in (tmp_path / "e.html").read_text(encoding="utf-8")

    def test_a_filter_that_never_moved_is_not_explained_as_if_learned(self, bank: Path, tmp_path: Path) -> None:
        printed = train(bank, tmp_path / "run", *FILTER, "--set", "filter_lr=1e-7").stdout
        assert "The weights of the filter did not change (split 0, 1)" in printed
        explained = succeed("explain", tmp_path / "run", "--out", tmp_path / "e.json").stdout
        assert "The weights of the filter did not change in training: the initial filter is shown." in explained

    def test_weights_of_classes_find_the_rare_one(self, bank: Path, tmp_path: Path) -> None:
        recalls = {}
        for name, options in (("alike", ()), ("balanced", ("--class-weight", "balanced"))):
            train(bank, tmp_path / name, *QUICK, *options)
            recalls[name] = {one["name"]: one["recall"] for one in report(tmp_path / name)["classes"]}["mule"]
        assert recalls["balanced"] > recalls["alike"]
        assert recalls["balanced"] >= 0.75
        assert report(tmp_path / "balanced")["settings"]["class_weight"] == "balanced"

    @pytest.mark.parametrize("metric", ["balanced_accuracy", "macro_f1", "roc_auc"])
    def test_the_metric_is_what_is_measured_and_shown(self, metric: str, bank: Path, tmp_path: Path) -> None:
        printed = train(bank, tmp_path / "run", *QUICK, "--metric", metric).stdout
        assert f"test {metric.replace('_', ' ')} %" in printed
        found = report(tmp_path / "run")
        assert found["metric"] == metric
        assert found["scores"][0]["mean"] == found["metrics"][metric]["mean"]

    def test_a_metric_of_another_kind_of_answer_is_refused(self, bank: Path, tmp_path: Path) -> None:
        result = run("train", bank, "--metric", "r2", "--out", tmp_path / "run", *QUICK)
        assert result.exit_code == 2
        assert "metric must be one of 'accuracy', 'balanced_accuracy', 'macro_f1', 'roc_auc', not 'r2'" in result.stderr


class TestReport:
    def test_the_page_and_the_numbers_agree(self, bank: Path, tmp_path: Path) -> None:
        printed = train(bank, tmp_path / "run", *FILTER, baseline=True).stdout
        found, page = report(tmp_path / "run"), (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
        assert [one["role"] for one in found["scores"]] == ["model", "mlp", "majority"]
        shown = [f"{100 * one['mean']:.2f} ± {100 * one['std']:.2f}" for one in found["scores"]]
        assert all(text in printed for text in shown)
        for name in ("accuracy", "balanced_accuracy", "macro_f1"):
            assert f"{100 * found['metrics'][name]['mean']:.1f} %" in page
        for one in found["classes"]:
            assert f"{one['support']}" in page
        supports = {one["name"]: one["support"] for one in found["classes"]}
        names, counts = found["confusion"]["names"], found["confusion"]["counts"]
        assert {name: sum(row) for name, row in zip(names, counts, strict=True)} == supports
        assert sum(one["count"] for one in found["calibration"]["bins"]) == 2 * found["split"]["test"]
        assert f"{100 * found['calibration']['error']:.1f} %" in page
        columns = {"age", "volume", "balance_share", "opened", "city", "business"}
        assert {one["name"] for one in found["importance"]["features"]} == columns
        for section in ("scores", "confusion", "calibration", "weights", "response", "importance", "next"):
            assert f'id="{section}"' in page, section
        assert not re.search(r'(src|href)="(?!data:)', page), "something is fetched"

    def test_columns_without_a_signal_are_not_named_first(self, bank: Path, tmp_path: Path) -> None:
        """Mules live in any city, and are businesses as often as others."""
        train(bank, tmp_path / "run", *FILTER, "--class-weight", "balanced")
        found = report(tmp_path / "run")["importance"]
        assert found["features"][0]["name"] in ("age", "volume", "opened", "balance_share")
        of_mule = next(one for one in found["classes"] if one["name"] == "mule")
        assert {one["name"] for one in of_mule["features"][:2]} <= {"age", "volume", "opened", "balance_share"}

    def test_a_filter_without_weights_per_hop_is_shown_by_its_response(self, trained: Path) -> None:
        page = (trained / "report.html").read_text(encoding="utf-8")
        assert 'id="response"' in page
        assert 'id="weights"' not in page

    def test_without_the_baseline_nothing_is_said_of_it(self, trained: Path) -> None:
        assert [one["role"] for one in report(trained)["scores"]] == ["model", "majority"]
        assert "MLP" not in json.dumps(report(trained)["scores"])


class TestOtherAnswers:
    def test_numbers(self, numbers: Path, tmp_path: Path) -> None:
        told = info(numbers)
        assert told["task"] == "regression"
        assert told["target"].endswith(", 12 missing")
        assert 0 <= float(told["value homophily"]) <= 1
        printed = train(numbers, tmp_path / "run", *FILTER).stdout
        assert "test r2" in printed
        assert "mean of the training nodes" in printed
        found = report(tmp_path / "run")
        assert set(found["metrics"]) == {"r2", "neg_rmse", "neg_mae"}
        assert found["metrics"]["r2"]["mean"] > 0.5
        assert found["importance"]["features"][0]["name"] == "volume"
        succeed("predict", tmp_path / "run", numbers, "--out", tmp_path / "p.csv")
        rows = predictions(tmp_path / "p.csv")
        assert list(rows[0]) == ["id", "prediction", "lower_90", "upper_90"]
        assert all(float(row["lower_90"]) < float(row["prediction"]) < float(row["upper_90"]) for row in rows)
        succeed("explain", tmp_path / "run", "--out", tmp_path / "e.html")
        explained = json.loads(succeed("explain", numbers, "--out", tmp_path / "e.json", "--json").stdout)
        assert explained["homophily_from"] == "value homophily of all targets"
        assert f"{explained['homophily']:.4f}" == told["value homophily"]
        assert "test r2" in succeed("compare", numbers, "--methods", "sgc", "--out", tmp_path / "c").stdout

    def test_several_labels(self, labels: Path, tmp_path: Path) -> None:
        told = info(labels)
        assert (told["task"], told["labels"]) == ("multilabel", "2")
        assert told["label rich"].endswith(" %)")
        printed = train(labels, tmp_path / "run", *FILTER).stdout
        assert "test macro f1 %" in printed
        found = report(tmp_path / "run")
        assert [one["name"] for one in found["classes"]] == ["young", "rich"]
        assert found["scores"][0]["mean"] > found["scores"][-1]["mean"]
        assert "2 labels" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
        succeed("predict", tmp_path / "run", labels, "--out", tmp_path / "p.csv")
        rows = predictions(tmp_path / "p.csv")
        assert list(rows[0]) == ["id", "young", "rich", "probability_young", "probability_rich"]
        assert {row["rich"] for row in rows} == {"0", "1"}
        assert all((float(row["probability_rich"]) > 0.5) == (row["rich"] == "1") for row in rows)
        succeed("explain", tmp_path / "run", "--out", tmp_path / "e.html")

    def test_a_label_of_measured_numbers_is_told_about_target(self, tables: TransferTables, tmp_path: Path) -> None:
        nodes = tables.nodes.assign(label=tables.nodes["balance_share"])
        result = run("train", write(tmp_path / "mine", nodes, tables.edges), "--out", tmp_path / "run", *QUICK)
        assert result.exit_code == 2
        assert "name the column target to predict numbers" in result.stderr

    def test_missing_targets_may_be_spelled_as_programs_do(self, numbers: Path, tmp_path: Path) -> None:
        nodes = pd.read_csv(numbers / "nodes.csv")
        nodes["target"] = nodes["target"].map(lambda value: "NA" if np.isnan(value) else f"{value:.3f}")
        folder = write(tmp_path / "mine", nodes, pd.read_csv(numbers / "edges.csv"))
        assert info(folder)["target"].endswith(", 12 missing")

    @pytest.mark.parametrize("which", ["bank", "numbers", "labels"])
    def test_the_command_that_tune_prints_runs(
        self, which: str, request: pytest.FixtureRequest, tmp_path: Path
    ) -> None:
        folder = request.getfixturevalue(which)
        tuned = json.loads(
            succeed("tune", folder, "--method", "sgc", "--trials", "2", "--epochs", "5", "--json").stdout
        )
        program, *arguments = tuned["command"].split()
        assert program == "unifilter"
        succeed(*arguments, "--splits", "1", "--no-baseline", "--out", tmp_path / "run")


def test_twenty_thousand_nodes(tmp_path: Path) -> None:
    tables = transfer_tables(20_000)
    folder = tables.write(tmp_path / "large")
    train(folder, tmp_path / "run", *QUICK, "--splits", "1", "--class-weight", "balanced")
    found = report(tmp_path / "run")
    assert found["metrics"]["balanced_accuracy"]["mean"] > 0.85
    assert found["metrics"]["roc_auc"]["mean"] > 0.9
    succeed("predict", tmp_path / "run", folder, "--out", tmp_path / "p.csv")
    assert [row["id"] for row in predictions(tmp_path / "p.csv")] == tables.nodes["id"].tolist()
    succeed("explain", tmp_path / "run", "--out", tmp_path / "e.html")
