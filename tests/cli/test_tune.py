from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import optuna
import pytest
import sqlalchemy
import torch
from typer.testing import CliRunner, Result

from unifilter import cli
from unifilter.data import NodeDataset
from unifilter.datasets.synthetic import contextual_sbm
from unifilter.estimators import fit
from unifilter.methods import METHODS, Problem, Workspace, find_method, problem
from unifilter.methods.uni_filter import UniFilterMethod
from unifilter.runs import tuning
from unifilter.runs.tuning import Trial, Tuning, tune
from unifilter.training import trainer

FIXED = {"epochs": 4, "hops": 2, "hidden_channels": 4, "num_layers": 2}
QUICK = [part for name, value in FIXED.items() for part in ("--set", f"{name}={value}")]


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def data() -> NodeDataset:
    return contextual_sbm(num_nodes=60, num_classes=3, homophily=0.8, average_degree=5, num_features=6, signal=1.0)


@pytest.fixture(autouse=True)
def _databases_that_do_not_wait_for_the_disk() -> Iterator[None]:
    def hurry(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA synchronous = OFF")

    sqlalchemy.event.listen(sqlalchemy.Engine, "connect", hurry)
    yield
    sqlalchemy.event.remove(sqlalchemy.Engine, "connect", hurry)


SEARCHED = {*UniFilterMethod.search_space, *UniFilterMethod.further_search}


def search(data: NodeDataset, trials: int, study: Path | None = None, **changes: Any) -> Tuning:
    settings = {"fixed": FIXED, **changes}
    return tune(UniFilterMethod, data, [data.split("60")], trials, study=study, **settings)


# The search


def test_trials_stay_in_the_published_space_and_touch_each_scaling_once(
    data: NodeDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    original = problem.factorize
    monkeypatch.setattr(problem, "factorize", lambda *a: made.append(1) or original(*a))
    tuned = search(data, 6)
    assert len(tuned.trials) == 6
    for trial in tuned.trials:
        assert set(trial.settings) == SEARCHED - set(FIXED)
        for name, value in trial.settings.items():
            known = UniFilterMethod.search_space.get(name, ()), UniFilterMethod.further_search.get(name, ())
            assert value in (*known[0], *known[1])
    assert len({repr(trial.settings) for trial in tuned.trials}) == 6
    scalings = {trial.settings["features"] for trial in tuned.trials}
    assert len(made) == len(scalings)
    assert tuned.best.val_score == max(trial.val_score or 0 for trial in tuned.trials)
    assert tuned.fixed == FIXED


def test_the_search_spaces_are_settings_of_their_methods() -> None:
    for name in METHODS:
        space = METHODS[name].search_space
        assert space or name == "auto", name  # a portfolio is its own search
        for setting, values in space.items():
            for value in values:
                assert getattr(METHODS[name].with_settings({setting: value}), setting) == value
    assert "tau" not in METHODS["ortfilter"].search_space


@pytest.mark.parametrize("name", METHODS)
def test_what_a_search_may_propose_can_be_built(name: str, data: NodeDataset) -> None:
    family, split = find_method(name), data.split("60")
    task = Problem(Workspace(data), split.train, split.val)
    others: list[dict[str, Any]] = [
        {},
        {setting: values[0] for setting, values in family.search_space.items()},
        {setting: values[-1] for setting, values in family.search_space.items()},
    ]
    for setting, values in family.search_space.items():
        for value, beside in product(values, others):
            family.with_settings({**beside, setting: value}).build(task)


def test_the_score_is_that_of_the_validation_nodes(data: NodeDataset) -> None:
    splits = [data.split("60", index) for index in (0, 1)]
    tuned = tune(UniFilterMethod, data, splits, 1, fixed=FIXED)
    workspace = Workspace(data)
    method = UniFilterMethod.with_settings({**FIXED, **tuned.best.settings})
    scores = [fit(method, Problem(workspace, s.train, s.val)).history.best_score for s in splits]
    assert tuned.best.val_score == pytest.approx(np.mean(scores))


def test_test_labels_make_no_difference(data: NodeDataset) -> None:
    split = data.split("60")
    labels = data.labels.clone()
    labels[split.test] = (labels[split.test] + 1) % 3
    other = tune(UniFilterMethod, replace(data, labels=labels), [split], 4, fixed=FIXED)
    assert other.trials == search(data, 4).trials


def test_a_study_goes_on_as_if_it_had_never_been_interrupted(data: NodeDataset, tmp_path: Path) -> None:
    """Past the ten random trials that every search starts with."""
    undisturbed = search(data, 13)
    file = tmp_path / "study.db"
    search(data, 3, file)

    def stop(number: int, trial: Trial) -> None:
        if number == 11:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(data, 13, file, on_trial=stop)
    numbers: list[int] = []
    resumed = search(data, 13, file, on_trial=lambda number, _: numbers.append(number))
    assert numbers == [12, 13]
    assert resumed.trials == undisturbed.trials
    assert search(data, 13, file).trials == undisturbed.trials  # there is nothing left to do
    assert search(data, 4, seed=1).trials != undisturbed.trials[:4]


@pytest.mark.usefixtures("ctrl_c")
def test_a_trial_that_was_interrupted_does_not_count(
    data: NodeDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "study.db"
    original, calls = trainer._validate, iter(range(100))

    def then_interrupt(*arguments: Any) -> tuple[float, float]:
        if next(calls) == 6:  # in the second trial
            signal.raise_signal(signal.SIGINT)
        return original(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(trainer, "_validate", then_interrupt)
        with pytest.raises(KeyboardInterrupt):
            search(data, 3, file)
    resumed = search(data, 3, file)
    assert resumed.trials == search(data, 3).trials


def test_a_study_of_something_else_is_refused(data: NodeDataset, tmp_path: Path) -> None:
    file = tmp_path / "study.db"
    search(data, 1, file)
    with pytest.raises(
        ValueError,
        match="study.db has different fixed settings .*: use its original arguments, or pass another study file",
    ):
        search(data, 2, file, fixed={**FIXED, "epochs": 5})
    with pytest.raises(ValueError, match="has different data"):
        search(contextual_sbm(num_nodes=60, num_classes=3, seed=2), 2, file)
    with pytest.raises(ValueError, match="has different method"):
        tune(find_method("ortfilter"), data, [data.split("60")], 2, fixed=FIXED, study=file)
    with pytest.raises(ValueError, match="has different splits"):
        tune(UniFilterMethod, data, [data.split("60", 1)], 2, fixed=FIXED, study=file)
    assert len(search(data, 1, file).trials) == 1


def damaged_files(folder: Path) -> Iterator[tuple[Path, str]]:
    text, empty, foreign, cut = (folder / f"{name}.db" for name in ("text", "empty", "foreign", "cut"))
    text.write_text("tau,score\n0.5,0.9\n" * 10)
    yield text, "file is not a database"
    empty.touch()
    yield empty, "it has no trials"
    with closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    yield foreign, "it has no trials"
    content = (folder / "whole.db").read_bytes()
    cut.write_bytes(content[: len(content) // 2])
    yield cut, "malformed|damaged"


def test_a_damaged_study_is_refused_and_left_as_it_is(data: NodeDataset, tmp_path: Path) -> None:
    search(data, 1, tmp_path / "whole.db")
    for file, reason in damaged_files(tmp_path):
        before = file.read_bytes()
        with pytest.raises(ValueError, match=rf"{file.name} is not a study that can be resumed \(.*({reason})"):
            search(data, 1, file)
        assert file.read_bytes() == before
    with pytest.raises(FileNotFoundError, match="there is no folder .*absent for the study s.db: create it"):
        search(data, 1, tmp_path / "absent" / "s.db")


def states(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as connection:
        return [state for (state,) in connection.execute("SELECT state FROM trials ORDER BY number")]


_KILLED = """
import os, sys
from pathlib import Path
from unifilter.datasets.synthetic import contextual_sbm
from unifilter.methods.uni_filter import UniFilterMethod
from unifilter.runs.tuning import tune
from unifilter.training import trainer

validate, calls = trainer._validate, iter(range(100))
trainer._validate = lambda *a: validate(*a) if next(calls) < 6 else os._exit(9)  # in the second trial
data = contextual_sbm(num_nodes=60, num_classes=3, homophily=0.8, average_degree=5, num_features=6, signal=1.0)
tune(UniFilterMethod, data, [data.split("60")], 3, fixed=eval(sys.argv[2]), study=Path(sys.argv[1]))
"""


def test_a_trial_whose_process_was_killed_is_not_left_running(data: NodeDataset, tmp_path: Path) -> None:
    file = tmp_path / "study.db"
    killed = subprocess.run([sys.executable, "-c", _KILLED, str(file), repr(FIXED)], capture_output=True, text=True)
    assert (killed.returncode, states(file)) == (9, ["COMPLETE", "RUNNING"]), killed.stderr
    resumed = search(data, 3, file)
    assert states(file) == ["COMPLETE", "FAIL", "COMPLETE", "COMPLETE"]
    assert resumed.trials == search(data, 3).trials


_KILLED_WHILE_WRITING = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("PRAGMA cache_size = 1")  # so that what is not committed is in the file already
for _ in range(2000):
    connection.execute("INSERT INTO study_user_attributes (study_id, key, value_json) VALUES (1, random(), 0)")
os._exit(9)
"""


def test_what_a_killed_process_wrote_in_part_is_taken_back(data: NodeDataset, tmp_path: Path) -> None:
    file = tmp_path / "study.db"
    search(data, 2, file)
    before = file.stat().st_size
    subprocess.run([sys.executable, "-c", _KILLED_WHILE_WRITING, str(file)], check=False)
    assert (tmp_path / "study.db-journal").exists()
    assert file.stat().st_size > before
    assert search(data, 3, file).trials == search(data, 3).trials


def test_one_process_at_a_time_searches_in_a_study(data: NodeDataset, tmp_path: Path) -> None:
    file = tmp_path / "study.db"

    def second(number: int, trial: Trial) -> None:
        with pytest.raises(ValueError, match="another process is searching in .*study.db: wait until it ends, or pass"):
            search(data, 1, file)

    assert search(data, 2, file, on_trial=second).trials == search(data, 2).trials
    assert states(file) == ["COMPLETE", "COMPLETE"]


def test_two_processes_that_start_a_study_at_once(tmp_path: Path) -> None:
    """One of them searches. The other one does so after it, or says why it does not."""
    file = tmp_path / "study.db"
    command = [sys.executable, "-m", "unifilter", "tune", "karate", "--trials", "2", "--study", str(file), *QUICK]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:
        _, stderr = process.communicate(timeout=120)
        assert process.returncode == 0 or (process.returncode == 2 and "another process is searching in" in stderr)
    assert 0 in {process.returncode for process in both}
    assert states(file) == ["COMPLETE", "COMPLETE"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["study.db", "study.db-lock"]


@pytest.mark.usefixtures("ctrl_c")
def test_a_study_that_was_not_made_whole_is_not_there(
    data: NodeDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "study.db"
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", lambda *_: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            search(data, 1, file)
    assert [path.name for path in tmp_path.iterdir()] == ["study.db-lock"]
    assert len(search(data, 1, file).trials) == 1


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="there is no folder here that nobody can write to")
def test_a_folder_that_cannot_be_written_to(data: NodeDataset) -> None:
    message = (
        r"the study /proc/self/study.db cannot be written \(unable to open database file\): free some space, or pass"
    )
    with pytest.raises(ValueError, match=message):
        search(data, 1, Path("/proc/self/study.db"))


@pytest.mark.parametrize("pages", [1, 10, 65])
def test_a_disk_that_is_full(data: NodeDataset, tmp_path: Path, pages: int) -> None:
    """At the start, while the study is made, and in the middle of a search."""
    file = tmp_path / "study.db"
    if pages == 65:
        search(data, 1, file)

    def fill(connection: Any, _: Any) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages}")

    sqlalchemy.event.listen(sqlalchemy.Engine, "connect", fill)
    try:
        with pytest.raises(
            ValueError, match=r"study.db cannot be written \(database or disk is full\): free some space"
        ):
            search(data, 500, file, fixed={**FIXED, "epochs": 1} if pages != 65 else FIXED)
    finally:
        sqlalchemy.event.remove(sqlalchemy.Engine, "connect", fill)
    kept = states(file).count("COMPLETE") if file.exists() else 0
    assert len(search(data, kept + 1, file).trials) == kept + 1
    assert "RUNNING" not in states(file)


@pytest.mark.parametrize("call", ["ask", "report", "tell"])
def test_a_disk_that_fails_in_a_trial(
    data: NodeDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    file = tmp_path / "study.db"
    search(data, 1, file)
    broken = sqlalchemy.exc.OperationalError("COMMIT", None, sqlite3.OperationalError("disk I/O error"))

    def fail(*_: Any, **__: Any) -> None:
        raise broken

    monkeypatch.setattr(tuning, "_EPOCHS_PER_REPORT", 2)
    with monkeypatch.context() as patched:
        patched.setattr(optuna.Trial if call == "report" else optuna.Study, call, fail)
        with pytest.raises(
            ValueError, match=r"study.db cannot be written \(disk I/O error\).*the trials stored so far"
        ):
            search(data, 2, file)
    assert search(data, 2, file).trials == search(data, 2).trials
    assert "RUNNING" not in states(file)


def test_bad_trials_are_given_up(data: NodeDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are few: a study's file is slow. The eighth trial learns nothing and is stopped at its first report."""
    monkeypatch.setattr(tuning, "_EPOCHS_PER_REPORT", 2)
    monkeypatch.setattr(tuning, "_EPOCHS_BEFORE_PRUNING", 2)
    reports: list[tuple[int, int]] = []
    original = optuna.Trial.report

    def noted(trial: optuna.Trial, value: float, step: int) -> None:
        reports.append((trial.number, step))
        original(trial, value, step)

    monkeypatch.setattr(optuna.Trial, "report", noted)
    validate, epochs = trainer._validate, iter(range(10_000))
    worse = 7 * 8  # seven trials of eight epochs

    def validated(*arguments: Any) -> tuple[float, float]:
        loss, _ = validate(*arguments)
        number = next(epochs)
        return loss, 0.1 if number >= worse else 0.5 + 0.01 * (number % 8)

    monkeypatch.setattr(trainer, "_validate", validated)
    tuned = search(data, 8, fixed={**FIXED, "epochs": 8})
    assert [trial.val_score is None for trial in tuned.trials] == [False] * 7 + [True]
    assert tuned.pruned == 1
    assert [step for number, step in reports if number == 0] == [1, 3, 5, 7]
    assert [step for number, step in reports if number == 7] == [1, 3]
    assert tuned.best.val_score == pytest.approx(0.57)


def test_a_learning_rate_that_is_too_high_is_a_bad_trial_and_no_error(
    data: NodeDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainer, "_validate", lambda *_: (float("nan"), float("nan")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuned = search(data, 2)
    assert [trial.val_score for trial in tuned.trials] == [0.0, 0.0]


def test_what_cannot_be_searched(data: NodeDataset) -> None:
    class OneOfAKind(UniFilterMethod):
        name: ClassVar[str] = "one-of-a-kind"
        search_space: ClassVar[dict[str, Any]] = {}

    with pytest.raises(ValueError, match="one-of-a-kind has no search space: tune another method"):
        tune(OneOfAKind, data, [data.split("60")], 1)
    every = {name: values[0] for name, values in (UniFilterMethod.search_space | {"theta": (None,)}).items()}
    with pytest.raises(ValueError, match=r"all searchable settings are fixed \(tau, .*\): leave one"):
        search(data, 1, fixed=every)
    with pytest.raises(ValueError, match="trials must be a whole number of at least 1, not 0"):
        search(data, 0)


def test_optuna_is_left_as_loud_as_it_was(data: NodeDataset) -> None:
    before = optuna.logging.get_verbosity()
    state = torch.random.get_rng_state()
    search(data, 1)
    assert optuna.logging.get_verbosity() == before
    assert torch.equal(torch.random.get_rng_state(), state)


def test_the_first_trials_are_those_that_are_given_and_the_search_goes_on_behind_them(
    data: NodeDataset, tmp_path: Path
) -> None:
    # A rate outside the search space, and a setting that is not searched at all.
    first = [{"lr": 0.123, "dropout": 0.0}, {}]
    file = tmp_path / "study.db"
    tune(UniFilterMethod, data, [data.split("60")], 2, fixed=FIXED, first=first, study=file)
    found = tune(UniFilterMethod, data, [data.split("60")], 4, fixed=FIXED, first=first, study=file)
    given = [{name: value for name, value in settings.items() if name not in FIXED} for settings in first]
    assert [trial.settings for trial in found.trials[:2]] == given
    assert all(set(trial.settings) == SEARCHED - set(FIXED) for trial in found.trials[2:])
    assert found.best.val_score == max(trial.val_score or 0 for trial in found.trials)
    alone = tune(UniFilterMethod, data, [data.split("60")], 1, fixed=FIXED, first=first)
    assert alone.trials[0] == found.trials[0]
    with pytest.raises(ValueError, match="first settings"):
        tune(UniFilterMethod, data, [data.split("60")], 4, fixed=FIXED, study=file)


def test_the_command_starts_from_published_settings_and_defaults() -> None:
    from unifilter.cli.tune import _starting_points
    from unifilter.datasets import load_dataset

    karate = load_dataset("karate")
    assert _starting_points(find_method("gprgnn"), karate, "60") == [{}]
    named = karate.with_checked(name="cora")
    published = find_method("gprgnn").presets["cora"]
    assert _starting_points(find_method("gprgnn"), named, "60") == [published, {}]


# The command


def test_the_command_it_prints_trains_what_was_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("tune", "karate", "--trials", "3", "--splits", "2", "--study", tmp_path / "s.db", "--json", *QUICK)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    printed = json.loads(result.stdout)
    assert (printed["dataset"], printed["method"], printed["trials"], printed["given_up"]) == (
        "karate",
        "unifilter",
        3,
        0,
    )
    command = shlex.split(printed["command"])
    assert command[:3] == ["unifilter", "train", "karate"]
    trained = json.loads(run(*command[1:], "--splits", "2", "--json").stdout)
    assert trained["scores"]["val_accuracy"]["mean"] == pytest.approx(printed["val_score"])
    for name, value in printed["settings"].items():
        assert trained["settings"][name] == value
    table = run("tune", "karate", "--trials", "3", "--splits", "2", "--study", tmp_path / "s.db", *QUICK)
    lines = dict(line.split(maxsplit=1) for line in table.stdout.splitlines() if line)
    fixed = [option.partition("=")[0] for option in QUICK]
    searched = [name for name in SEARCHED if name in printed["settings"] and name not in fixed]
    if not searched:
        assert lines["all"].split() == ["settings", "defaults"]
    for name in searched:
        assert lines[name] in (json.dumps(printed["settings"][name]), printed["settings"][name])
    assert lines["validation"] == f"accuracy %  {100 * printed['val_score']:.2f}"
    assert table.stdout.splitlines()[-1] == printed["command"]


def test_progress_goes_to_stderr() -> None:
    result = run("tune", "karate", "--method", "ortfilter", "--trials", "2", "--epochs", "2")
    assert result.exit_code == 0, result.output
    assert [line.split(":")[0] for line in result.stderr.splitlines()] == ["trial 1/2", "trial 2/2"]
    assert "tau" not in result.stdout


def test_mistakes_end_with_2(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no study" * 100)
    for arguments, message in (
        (("karate", "--set", "color=red"), "has no setting 'color'"),
        (("karate", "--split", "70"), "has no split '70'"),
        (("karate", "--study", tmp_path / "text.db", *QUICK), "is not a study that can be resumed"),
        (("karate", "--trials", "0"), "--trials"),
    ):
        result = run("tune", *arguments)
        assert result.exit_code == 2, result.output
        assert message in result.stderr


def test_interrupted_it_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tuning, "fit", interrupt)
    kept = run("tune", "karate", "--study", tmp_path / "s.db", *QUICK)
    assert kept.exit_code == 130
    assert f"the trials are in {tmp_path / 's.db'}: run the same command to continue" in kept.stderr
    lost = run("tune", "karate", *QUICK)
    assert (lost.exit_code, "pass --study FILE.db to be able to resume" in lost.stderr) == (130, True)


def test_the_default_split_and_one_that_leaves_a_class_out(tmp_path: Path) -> None:
    assert json.loads(run("tune", "karate", "--trials", "1", "--json", *QUICK).stdout)["split"] == "stratified"
    rng = np.random.default_rng(0)
    file = tmp_path / "mine.npz"
    arrays = {"node_features": rng.random((100, 3)), "node_labels": np.arange(100) // 90}
    np.savez_compressed(file, edges=rng.integers(0, 100, (300, 2)), **arrays)
    command = ("tune", file, "--split", "60", "--trials", "1", *QUICK)
    refused = run(*command)
    assert refused.exit_code == 2
    assert "class 1 has 10 labeled nodes, but no validation or test node" in refused.stderr
    found = json.loads(run(*command, "--allow-missing-classes", "--json").stdout)
    assert found["unvalidated_classes"] == ["1"]
    assert "--allow-missing-classes" in found["command"]
    table = run(*command, "--allow-missing-classes").stdout
    assert re.search(r"validation accuracy % +\d+\.\d\d†\n", table)
    assert "\n† no validation node of class '1': the score says nothing about it\n" in table
