"""What TensorBoard and MLflow hold is the history of the training."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from unifilter import NodeClassifier, UniFilterClassifier
from unifilter._internal.extras import MissingExtraError
from unifilter.cli import app
from unifilter.datasets import load_dataset
from unifilter.training import History, MLflowLog, TensorBoardLog

NAMES = ("training_loss", "validation_loss", "validation_score")


def curve(folder: Path, name: str) -> list[tuple[int, float]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    return [(one.step, one.value) for one in events.Scalars(name)]


def of_history(history: History) -> dict[str, list[float]]:
    return dict(zip(NAMES, (history.loss, history.val_loss, history.val_score), strict=True))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_holds_the_history(tmp_path: Path) -> None:
    karate, seen = load_dataset("karate"), []
    with TensorBoardLog(tmp_path) as log:

        def watch(history: History) -> bool:
            log(history)
            seen.append(history.epochs)
            return history.epochs == 3

        clf = NodeClassifier("mlp").fit(karate.graph, karate.features, karate.labels, on_epoch=watch)
    assert seen == [1, 2, 3]
    assert clf.history_.ended == "stopped"
    for name, values in of_history(clf.history_).items():
        found = curve(tmp_path / "training-1", name)
        assert [step for step, _ in found] == [1, 2, 3]
        assert [value for _, value in found] == pytest.approx(values)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_candidate_and_every_run_is_a_curve_of_its_own(tmp_path: Path) -> None:
    karate = load_dataset("karate")
    clf = UniFilterClassifier(hops=2, epochs=2)
    for _ in range(2):  # the second run adds to what is there
        with TensorBoardLog(tmp_path) as log:
            clf.fit(karate.graph, karate.features, karate.labels, on_epoch=log)
    candidates = len(clf.build_method().candidates())
    assert {path.name for path in tmp_path.iterdir()} == {f"training-{n + 1}" for n in range(2 * candidates)}
    assert [len(curve(path, NAMES[0])) for path in tmp_path.iterdir()] == [2] * 2 * candidates


@pytest.mark.filterwarnings("ignore")
def test_mlflow_holds_history_and_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow import MlflowClient

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # its default, a database, takes 20 s to set up
    place = (tmp_path / "runs").as_uri()
    history = History([0.5], [0.6], [0.7])
    with MLflowLog("mine", "first", {"hops": 3}, place) as log:
        log(history)
        history.loss, history.val_loss, history.val_score = [0.5, 0.4], [0.6, 0.5], [0.7, math.nan]
        history.ended = "epochs"
        log(history)
        log(History([1.0], [1.0], [1.0]))  # the next candidate

    def interrupted() -> None:
        with MLflowLog("mine", "cut", tracking_uri=place) as log:
            log(History([1.0, 2.0], [1.0, 2.0], [1.0, 2.0]))  # taken up after two epochs
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    client = MlflowClient(place)
    found = client.search_runs([client.get_experiment_by_name("mine").experiment_id])
    runs = {run.info.run_name: run for run in found}
    assert {name: run.info.status for name, run in runs.items()} == {
        "first": "FINISHED", "first 2": "FINISHED", "cut": "KILLED",
    }  # fmt: skip
    assert runs["first"].data.params == {"hops": "3"}

    def steps(run: str, name: str) -> list[tuple[int, float]]:
        return [(one.step, one.value) for one in client.get_metric_history(runs[run].info.run_id, name)]

    assert steps("first", "training_loss") == [(1, 0.5), (2, 0.4)]
    assert steps("first", "validation_score")[0] == (1, 0.7)
    assert math.isnan(steps("first", "validation_score")[1][1])
    assert steps("cut", "validation_loss") == [(1, 1.0), (2, 2.0)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_command_writes_a_curve_for_each_split(tmp_path: Path) -> None:
    command = ["train", "karate", "--method", "mlp", "--splits", "2", "--split", "stratified", "--no-baseline"]
    folder = tmp_path / "run"
    done = CliRunner().invoke(app, [*command, "--epochs", "3", "--out", str(folder), "--log", "tensorboard"])
    assert done.exit_code == 0, done.output
    for split in range(2):
        lines = (folder / "history" / f"split-{split}.csv").read_text().splitlines()
        found = curve(folder / "tensorboard" / f"split-{split}" / "training-1", NAMES[0])
        assert len(found) == len(lines) - 1 == 3


@pytest.mark.parametrize(("kind", "name"), [(TensorBoardLog, "tensorboard"), (MLflowLog, "mlflow")])
def test_what_is_missing_is_said_before_any_work(
    kind: type[TensorBoardLog], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=rf"the log {kind.__name__} needs {name}.*'unifilter\[{name}\]'"):
        kind(str(tmp_path / "new"))
    done = CliRunner().invoke(app, ["train", "nowhere", "--out", str(tmp_path / "run"), "--log", name])
    assert done.exit_code == 2
    assert f"pip install 'unifilter[{name}]'" in done.stderr
    assert list(tmp_path.iterdir()) == []
