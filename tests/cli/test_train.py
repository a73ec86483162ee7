from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from real_graphs import needs_data
from small_files import write_npz
from typer.testing import CliRunner, Result

from unifilter import cli
from unifilter.methods.uni_filter import UniFilterMethod
from unifilter.training import trainer

QUICK = ("--epochs", "4", "--hops", "2", "--set", "hidden_channels=4")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def test_a_table_a_folder_and_pictures(tmp_path: Path) -> None:
    result = run("train", "karate", "--splits", "2", "--out", tmp_path / "run", *QUICK)
    assert result.exit_code == 0, result.output
    lines = [line.split("  ") for line in result.stdout.splitlines() if line]
    assert lines[0][0] == "split"
    assert "test accuracy %" in result.stdout
    assert [line[0] for line in lines[1:6]] == ["0", "1", "mean ± std", "MLP without the graph", "most frequent class"]
    assert result.stdout.splitlines()[-1] == str(tmp_path / "run")
    for name in ("weights.png", "history.png"):
        assert (tmp_path / "run" / name).read_bytes().startswith(b"\x89PNG")
    records = json.loads((tmp_path / "run" / "splits.json").read_text())
    assert f"{100 * records[1]['test_accuracy']:.2f}" in result.stdout
    mean = np.mean([record["test_accuracy"] for record in records])
    assert f"{100 * mean:.2f} ± " in result.stdout


def test_json_is_all_that_is_printed(tmp_path: Path) -> None:
    result = run(
        "train",
        "karate",
        "--splits",
        "1",
        "--tau",
        "learn",
        "--channels",
        "shared",
        "--out",
        tmp_path / "run",
        "--json",
        *QUICK,
    )
    printed = json.loads(result.stdout)
    assert result.stderr == ""
    assert (printed["settings"]["tau"], printed["settings"]["hidden_channels"], printed["done"]) == ("learn", 4, 1)
    assert printed["settings"]["channels"] == "shared"
    assert printed["records"] == json.loads((tmp_path / "run" / "splits.json").read_text())
    assert printed["scores"]["test_accuracy"]["std"] == 0


def test_the_default_folder_and_its_second_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = ("train", "karate", "--method", "ortfilter", "--splits", "1", *QUICK)
    assert run(*command).exit_code == 0
    assert (tmp_path / "runs" / "karate-ortfilter-stratified" / "config.json").exists()
    again = run(*command)
    assert again.exit_code == 2
    assert "runs/karate-ortfilter-stratified exists: pass --resume" in again.stderr
    resumed = run(*command, "--resume")
    assert resumed.exit_code == 0
    other = run(*command, "--resume", "--tau", "0.1")
    assert other.exit_code == 2
    assert "has a different tau (None, not 0.1)" in other.stderr


def test_as_many_splits_as_come_with_the_data(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "mine.npz")  # with two, of which one class is missing
    quick = ("--allow-missing-classes", *QUICK)
    result = run("train", path, "--out", tmp_path / "run", "--json", *quick)
    assert result.exit_code == 0, result.output
    assert (json.loads(result.stdout)["done"], json.loads(result.stdout)["split"]) == (2, "given")
    more = run("train", path, "--splits", "3", "--out", tmp_path / "more", *quick)
    assert more.exit_code == 2
    assert "there is no number 2" in more.stderr


def test_settings_are_published_ones_unless_they_are_not_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(UniFilterMethod, "presets", {"karate": {"hops": 2}})
    for preset, hops in (("published", 2), ("none", UniFilterMethod.hops)):
        out = tmp_path / preset
        result = run(
            "train",
            "karate",
            "--splits",
            "1",
            "--preset",
            preset,
            "--out",
            out,
            "--json",
            "--epochs",
            "2",
            "--set",
            "hidden_channels=4",
        )
        assert result.exit_code == 0, result.output
        assert json.loads((out / "config.json").read_text())["settings"]["hops"] == hops


def test_a_device_that_is_not_there_is_refused(tmp_path: Path) -> None:
    result = run("train", "karate", "--device", "cuda:7", "--splits", "1", "--out", tmp_path / "run", *QUICK)
    assert result.exit_code == 2
    assert "the device 'cuda:7' cannot be used here" in result.stderr
    assert "pass --device cpu" in result.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("ctrl_c")
def test_interrupted_it_says_how_to_go_on_and_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("train", "karate", "--splits", "2", "--out", tmp_path / "run", "--json", *QUICK)
    original, calls = trainer._validate, iter(range(1000))

    def then_interrupt(*arguments: Any) -> tuple[float, float]:
        if next(calls) == 5 * 4 + 1:  # in the second epoch of the second split, after five candidates on the first
            signal.raise_signal(signal.SIGINT)
        return original(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(trainer, "_validate", then_interrupt)
        result = run(*command)
    assert result.exit_code == 130
    assert "stopped after 2 epochs; its state is in" in result.stderr
    assert "1 of 2 splits are done: run the same command with --resume to continue" in result.stderr
    assert (tmp_path / "run" / "checkpoints" / "split-1.pt").exists()
    resumed = json.loads(run(*command, "--resume").stdout)
    whole = json.loads(run(*command[:4], "--out", tmp_path / "whole", *command[6:]).stdout)
    for one, other in zip(resumed["records"], whole["records"], strict=True):
        assert one["weights"] == other["weights"]
        assert one["test_accuracy"] == other["test_accuracy"]


def test_interrupted_between_epochs_it_says_so_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unifilter.runs import run as runs

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "fit", interrupt)
    result = run("train", "karate", "--splits", "2", "--out", tmp_path / "run", *QUICK)
    assert result.exit_code == 130
    assert "interrupted\n0 of 2 splits are done: run the same command with --resume to continue" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.npz",), "there is no file or folder nowhere.npz"),
        (("karate", "--method", "magic"), "there is no method 'magic': choose one of unifilter"),
        (("karate", "--tau", "much"), "--tau must be a number in [0, 1] or learn, not 'much'"),
        (("karate", "--tau", "2"), "tau must lie in [0, 1], not 2.0"),
        (("karate", "--set", "dropout"), "--set takes name=value, not 'dropout': for example --set dropout=0.5"),
        (("karate", "--set", "color=red"), "unifilter has no setting 'color': it has features, epochs"),
        (("karate", "--set", "lr=fast"), "the setting lr of unifilter must be a number, not 'fast'"),
        (("karate", "--set", "lr=true"), "the setting lr of unifilter must be a number, not True"),
        (("karate", "--set", "epochs=2.5"), "the setting epochs of unifilter must be a whole number, not 2.5"),
        (("karate", "--set", "batch_norm=yes"), "the setting batch_norm of unifilter must be true or false, not 'yes'"),
        (("karate", "--hops", "0"), "hops must be a whole number of at least 1, not 0"),
        (("karate", "--split", "70"), "'karate' has no split '70': it has '60', 'stratified'"),
        (("karate", "--splits", "0"), "--splits"),
        (("karate", "--features", "column"), "--features"),
    ],
)
def test_mistakes_end_with_2_and_say_what_to_do(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("train", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not (tmp_path / "runs").exists() or not any((tmp_path / "runs").rglob("splits.json"))


def test_a_run_that_could_not_start_is_not_in_the_way(tmp_path: Path) -> None:
    arguments = ("train", "karate", "--split", "stratified", "--out", tmp_path / "run", *QUICK)
    assert run(*arguments, "--set", "dropout=2").exit_code == 2
    assert not (tmp_path / "run").exists()
    assert run(*arguments).exit_code == 0


def test_nothing_to_tell_apart_is_refused(tmp_path: Path) -> None:
    one = write_npz(tmp_path / "one.npz", node_labels=np.array([0, 0, 0, 1, 1, 1]))
    result = run("train", one, "--split", "given", "--allow-missing-classes", "--out", tmp_path / "run", *QUICK)
    assert result.exit_code == 2
    assert "all 3 training nodes are of class 0: a classifier needs nodes of at least two classes" in result.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.filterwarnings("default::unifilter.training.DivergedWarning")
def test_a_loss_that_is_no_number_is_told_in_one_line_and_marked(tmp_path: Path) -> None:
    too_high = ("--set", "lr=1e30", "--set", "batch_norm=false")
    result = run("train", "karate", "--splits", "1", "--out", tmp_path / "run", *QUICK, *too_high)
    assert result.exit_code == 0
    warned = [line for line in result.stderr.splitlines() if "warning" in line]
    assert len(warned) == 1
    assert warned[0].startswith("unifilter: warning: the loss became NaN or infinite in epoch ")
    assert "a learning rate (1e+30, 0.01) is too high, try a tenth of it" in warned[0]
    assert ".py" not in result.stderr
    assert ", diverged" in result.stdout.splitlines()[1]


def test_a_test_set_of_one_class_has_no_roc_auc(tmp_path: Path) -> None:
    """Trained and stopped by it all the same."""
    masks = np.zeros((3, 1, 6), dtype=bool)
    for part, nodes in enumerate(([0, 1, 2], [3, 4], [5])):
        masks[part, 0, nodes] = True
    path = write_npz(tmp_path / "mine.npz", **dict(zip(("train_masks", "val_masks", "test_masks"), masks, strict=True)))
    settings = ("--allow-missing-classes", "--set", "metric=roc_auc", *QUICK)
    result = run("train", path, "--out", tmp_path / "run", *settings)
    assert result.exit_code == 0, result.output
    assert "mean ± std  -*  " in result.stdout


@pytest.mark.skipif(os.name == "nt", reason="signals are of another kind there")
def test_commands_are_listed_with_what_they_do() -> None:
    listed = run("--help").stdout
    for command in ("data", "train", "predict", "tune"):
        assert command in listed
        assert run(command, "--help").exit_code == 0


def write_folder(folder: Path, labels: list[str], seed: int = 0) -> Path:
    """Tables of a random graph whose features are noise."""
    rng = np.random.default_rng(seed)
    folder.mkdir()
    x = rng.standard_normal((len(labels), 3))
    rows = [f"n{node},{a:.4f},{b:.4f},{c:.4f},{labels[node]}" for node, (a, b, c) in enumerate(x)]
    (folder / "nodes.csv").write_text("id,a,b,c,label\n" + "\n".join(rows))
    edges = rng.integers(0, len(labels), (3 * len(labels), 2))
    (folder / "edges.csv").write_text("source,target\n" + "\n".join(f"n{u},n{v}" for u, v in edges))
    return folder


def imbalanced(folder: Path) -> Path:
    """One node in 31 is of the rare class."""
    return write_folder(folder, ["rare" if node % 31 == 0 else "common" for node in range(310)])


def test_a_rare_class_is_tested_and_noise_is_not_learned(tmp_path: Path) -> None:
    """A split with as many training nodes from each class would leave one class to test: always 100 %."""
    folder = imbalanced(tmp_path / "mine")
    found = json.loads(run("train", folder, "--splits", "3", "--out", tmp_path / "run", "--json", *QUICK).stdout)
    assert found["split"] == "stratified-60-20-20"
    assert found["scores"]["test_accuracy"]["mean"] < 0.99
    assert "untested_classes" not in found
    labels = np.random.default_rng(1).choice(["a", "b"], 200).tolist()
    noise = write_folder(tmp_path / "noise", labels)
    found = json.loads(run("train", noise, "--splits", "3", "--out", tmp_path / "other", "--json", *QUICK).stdout)
    assert abs(found["scores"]["test_accuracy"]["mean"] - 0.5) < 0.2


def test_a_split_that_leaves_a_class_out_is_refused(tmp_path: Path) -> None:
    result = run("train", imbalanced(tmp_path / "mine"), "--split", "60", "--out", tmp_path / "run", *QUICK)
    assert result.exit_code == 2
    assert (
        "class 'rare' has 10 labeled nodes, but no validation or test node in split 0 of 'random-60-20-20': pass "
        "--split stratified, label more nodes of it, or pass --allow-missing-classes to train anyway"
    ) in result.stderr
    assert not (tmp_path / "run").exists()


def test_a_score_that_leaves_a_class_out_is_marked_wherever_it_is_shown(tmp_path: Path) -> None:
    folder = imbalanced(tmp_path / "mine")
    command = ("train", folder, "--split", "60", "--splits", "2", "--allow-missing-classes", "--out", tmp_path / "run")
    result = run(*command, *QUICK)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert re.fullmatch(r"0 +\d+\.\d\d\* +\d+\.\d\d† +4 +\S+", lines[1])
    assert re.fullmatch(r"mean ± std +\d+\.\d\d\* ± \d+\.\d\d +\d+\.\d\d† ± \d+\.\d\d", lines[3])
    assert re.fullmatch(r"MLP without the graph +\d+\.\d\d\* ± \d+\.\d\d", lines[4])
    assert re.fullmatch(r"most frequent class +100\.00\* ± 0\.00", lines[5])
    assert lines[6] == "* no test node of class 'rare': the score says nothing about it"
    assert lines[7] == "† no validation node of class 'rare': the score says nothing about it"
    assert ",rare,rare," in (tmp_path / "run" / "splits.csv").read_text()
    found = json.loads(run(*command, *QUICK, "--resume", "--json").stdout)
    assert (found["untested_classes"], found["unvalidated_classes"]) == (["rare"], ["rare"])
    assert all(record["untested_classes"] == ["rare"] for record in found["records"])


@needs_data
def test_the_split_of_the_literature_is_trained_and_marked(tmp_path: Path) -> None:
    quick = ("--method", "mlp", "--splits", "1", "--epochs", "2", "--set", "hidden_channels=4")
    for split, untested in (((), ["1", "2"]), (("--split", "48"), ["1"])):
        out = tmp_path / str(len(untested))
        found = json.loads(run("train", "texas", *split, "--out", out, "--json", *quick).stdout)
        assert found["untested_classes"] == untested
    refused = run("train", "texas", "--split", "random-50-30-20", "--out", tmp_path / "other", *quick)
    assert refused.exit_code == 2
    assert "but no validation or test node in split 0 of 'random-50-30-20'" in refused.stderr


def test_balanced_accuracy_shows_what_accuracy_hides(tmp_path: Path) -> None:
    """Whoever says "common" of every node is right on 30 of 31, and on one class of two."""
    folder = imbalanced(tmp_path / "mine")
    result = run(
        "train", folder, "--splits", "2", "--set", "metric=balanced_accuracy", "--out", tmp_path / "run", *QUICK
    )
    assert result.exit_code == 0, result.output
    assert "test balanced accuracy %" in result.stdout
    found = json.loads((tmp_path / "run" / "splits.json").read_text())
    means = {name: np.mean([record[f"test_{name}"] for record in found]) for name in ("accuracy", "balanced_accuracy")}
    assert f"{100 * means['balanced_accuracy']:.2f} ± " in result.stdout
    assert abs(means["balanced_accuracy"] - 0.5) < 0.3
    assert means["balanced_accuracy"] != means["accuracy"]


def test_macro_f1_counts_a_class_that_is_not_tested(tmp_path: Path) -> None:
    folder = imbalanced(tmp_path / "mine")
    settings = ("--split", "60", "--splits", "1", "--allow-missing-classes", "--json")
    found = json.loads(run("train", folder, "--out", tmp_path / "run", *settings, *QUICK).stdout)
    assert 0 < found["scores"]["test_macro_f1"]["mean"] <= 0.5  # the F1 score of the rare class is 0
