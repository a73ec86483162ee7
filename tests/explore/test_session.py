from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explore.small_sessions import finish, karate, npz, session, unlabeled, wait_for

from unifilter.estimators import fit
from unifilter.explore import session as session_module
from unifilter.explore import training as training_module
from unifilter.explore.session import BusyError, Session
from unifilter.methods import METHODS


@pytest.fixture
def long_training(patient: None) -> Iterator[Session]:
    """More epochs than any test waits for."""
    opened = session()
    opened.train(["unifilter"], "60", 10**6)
    wait_for(lambda: opened.training is not None and bool(opened.training.curves))
    yield opened
    opened.close()
    opened.join()


def test_only_what_is_there_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Session(karate(), tmp_path, 10**6)
    assert opened.to_dict()["datasets"] == ["karate", "digits"]

    def download(*_: object) -> None:
        pytest.fail("this must not be downloaded")

    monkeypatch.setattr("unifilter.datasets.lookup._fetch_form", download)
    with pytest.raises(ValueError, match="the data set 'cora' is not on this machine: download it first"):
        opened.open_named("cora")
    assert opened.opened.dataset.name == "karate"


def test_a_method_whose_extra_is_missing_is_refused_before_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = session()
    monkeypatch.setattr(METHODS["gcn"], "extra", "pyg")
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    with pytest.raises(ValueError, match=r"the method gcn needs torch_geometric: pip install 'unifilter\[pyg\]'"):
        opened.train(["mlp", "gcn"], "60", 2)
    assert opened.training is None


def test_another_data_set_takes_the_place(tmp_path: Path) -> None:
    opened = session()
    opened.train(["mlp"], "60", 2)
    finish(opened)
    (tmp_path / "mine.npz").write_bytes(npz())
    opened.open_upload(tmp_path / "mine.npz")
    state = opened.to_dict()
    assert state["dataset"]["name"] == opened.explanation().name == "mine"
    assert (state["dataset"]["published"], state["trained"], state["training"]) == (False, [], None)
    opened.open_named("karate")
    assert opened.to_dict()["dataset"]["published"] is True


def test_published_settings_are_for_published_data_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module.METHODS["unifilter"], "presets", {"karate": {"hops": 3}})
    opened = session()
    assert next(method["name"] for method in opened.to_dict()["methods"] if method["published"]) == "unifilter"
    opened.train(["unifilter"], "60", 1)
    finish(opened)
    assert opened.opened.trained[0].record["settings"]["hops"] == 3
    (tmp_path / "karate.npz").write_bytes(npz())
    opened.open_upload(tmp_path / "karate.npz")
    opened.train(["unifilter"], "60", 1)
    finish(opened)
    assert opened.opened.trained[0].record["settings"]["hops"] == 10


def test_a_file_that_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    opened = session()
    opened.train(["mlp"], "60", 2)
    finish(opened)
    before = opened.to_dict()
    (tmp_path / "mine.npz").write_bytes(npz()[:300])
    with pytest.raises(ValueError, match="mine.npz is not a complete .npz file"):
        opened.open_upload(tmp_path / "mine.npz")
    zeros = npz(node_features=np.zeros((30, 2)))
    (tmp_path / "mine.npz").write_bytes(zeros)
    with pytest.raises(ValueError, match="mine.npz cannot be explained: all feature columns are zero"):
        opened.open_upload(tmp_path / "mine.npz")
    assert opened.to_dict() == before


def test_methods_are_trained_in_turn_and_numbered_on() -> None:
    opened = session()
    opened.train(["unifilter", "mlp", "unifilter"], "60", 4)
    finish(opened)
    assert opened.training is not None
    assert (opened.training.state, opened.training.message) == ("done", "trained unifilter, mlp")
    opened.train(["sgc"], "stratified", 2)
    finish(opened)
    found = opened.to_dict()["trained"]
    assert [(one["number"], one["method"], one["epochs"]) for one in found] == [
        (1, "unifilter", 4),
        (2, "mlp", 4),
        (3, "sgc", 2),
    ]
    assert opened.explanation(1).name == "karate, unifilter"
    assert opened.explanation(0).name == "karate"


def test_a_training_can_be_stopped_and_keeps_what_it_has(long_training: Session) -> None:
    opened = long_training
    training = opened.training
    assert training is not None
    wait_for(lambda: len(training.curves[0].score) > 3)
    opened.stop()
    finish(opened)
    epochs = len(training.curves[0].score)
    assert (training.state, opened.opened.trained[0].record["ended"]) == ("stopped", "stopped")
    assert training.message == f"stopped unifilter after epoch {epochs}; its best weights are kept"
    assert opened.explanation(1).weight is not None


def test_one_thing_is_done_at_a_time(long_training: Session, tmp_path: Path) -> None:
    opened = long_training
    message = "unifilter is being trained, and only one operation can run at a time: wait until it ends, or stop it"
    (tmp_path / "mine.npz").write_bytes(npz())
    for request in (
        lambda: opened.train(["mlp"], "60", 2),
        lambda: opened.open_named("karate"),
        lambda: opened.open_upload(tmp_path / "mine.npz"),
    ):
        with pytest.raises(BusyError, match=message):
            request()
    opened.stop()
    finish(opened)
    opened.train(["mlp"], "60", 2)
    finish(opened)
    assert [one.record["method"] for one in opened.opened.trained] == ["unifilter", "mlp"]


def test_nothing_is_trained_while_a_data_set_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    opened, entered, leave = session(), threading.Event(), threading.Event()

    def slow(name: str, data_dir: object, device: str) -> Any:
        entered.set()
        leave.wait(10)
        return karate()

    monkeypatch.setattr(session_module, "open_present", slow)
    opening = threading.Thread(target=opened.open_named, args=("karate",))
    opening.start()
    entered.wait(10)
    with pytest.raises(BusyError, match="karate is being opened, and only one operation can run at a time"):
        opened.train(["mlp"], "60", 2)
    leave.set()
    opening.join()
    opened.train(["mlp"], "60", 2)
    finish(opened)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ((["unifilters"], "60", 5), "there is no method 'unifilters'"),
        (([], "60", 5), "no method was chosen: select at least one"),
        ((["mlp"], "61", 5), "'karate' has no split '61'"),
        ((["mlp"], "60", 0), "epochs must be a whole number of at least 1, not 0"),
    ],
)
def test_what_cannot_be_trained_is_said_at_once(request_: tuple[Any, ...], message: str) -> None:
    opened = session()
    with pytest.raises(ValueError, match=message):
        opened.train(*request_)
    assert opened.training is None
    opened.train(["mlp"], "60", 1)  # and nothing is in the way
    finish(opened)


def test_data_without_labels_is_explained_but_not_learned() -> None:
    opened = session(unlabeled())
    state = opened.to_dict()["dataset"]
    assert (state["labeled"], opened.explanation().homophily) == (False, 0.5)
    assert opened.explanation().homophily_from == "0.5, because there are no labels"
    with pytest.raises(ValueError, match="unlabeled has no labels, so nothing can be trained: open a data set with"):
        opened.train(["mlp"], "60", 2)


def test_what_has_no_explanation_says_so() -> None:
    opened = session()
    with pytest.raises(ValueError, match="there is no training result 1 on karate: train it first"):
        opened.explanation(1)
    opened.train(["mlp"], "60", 1)
    finish(opened)
    with pytest.raises(ValueError, match="mlp learns no filter that is a function of the eigenvalues: choose"):
        opened.explanation(1)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("too many nodes: take fewer"), "mlp: too many nodes: take fewer"),
        (MemoryError(), "mlp: there is not enough memory: train a smaller model"),
        (RuntimeError("odd"), "mlp: RuntimeError: odd"),
    ],
)
def test_a_training_that_fails_says_why_and_frees_the_way(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], error: Exception, message: str
) -> None:
    opened = session()

    def fail(method: Any, *arguments: Any, **options: Any) -> Any:
        if method.name == "mlp":
            raise error
        return fit(method, *arguments, **options)

    monkeypatch.setattr(training_module, "fit", fail)
    opened.train(["unifilter", "mlp", "sgc"], "60", 2)
    finish(opened)
    assert opened.training is not None
    assert (opened.training.state, opened.training.message) == ("failed", message)
    # What was trained before it is kept, and only the unexpected is on the terminal.
    assert [one.record["method"] for one in opened.opened.trained] == ["unifilter"]
    assert ("Traceback" in capfd.readouterr().err) == isinstance(error, RuntimeError)
    opened.train(["sgc"], "60", 1)
    finish(opened)


def test_a_loss_that_is_no_number_is_an_end_like_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module.METHODS["mlp"], "presets", {"karate": {"lr": 1e30}})
    opened = session()
    opened.train(["mlp"], "60", 50)
    finish(opened)
    assert opened.training is not None
    assert (opened.training.state, opened.opened.trained[0].record["ended"]) == ("done", "diverged")
    found = opened.training.curves[0].since(0)
    assert None in (found["loss"][-1], found["score"][-1])


def rare_class(tmp_path: Path) -> Session:
    """An upload of two classes, one of ten nodes in a hundred."""
    rng = np.random.default_rng(0)
    features, edges = rng.standard_normal((100, 5)).astype(np.float32), rng.integers(0, 100, (300, 2))
    (tmp_path / "mine.npz").write_bytes(npz(node_features=features, node_labels=np.arange(100) // 90, edges=edges))
    opened = session()
    opened.open_upload(tmp_path / "mine.npz")
    return opened


def test_the_default_split_is_offered_first(tmp_path: Path) -> None:
    assert session().to_dict()["dataset"]["splits"] == ["stratified", "60"]
    opened = karate()
    benchmark = replace(opened, dataset=opened.dataset.with_checked(literature_split="60"))
    assert benchmark.to_dict()["splits"] == ["60", "stratified"]
    assert rare_class(tmp_path).to_dict()["dataset"]["splits"] == ["stratified", "60"]


def test_a_split_that_leaves_a_class_out_is_refused_unless_it_is_the_literatures(tmp_path: Path) -> None:
    opened = rare_class(tmp_path)
    message = "class 1 has 10 labeled nodes, .*: choose the split 'stratified', or label more nodes of it$"
    with pytest.raises(ValueError, match=message):
        opened.train(["mlp"], "60", 2)
    opened.train(["mlp"], "stratified", 2)
    finish(opened)
    opened.opened.dataset = opened.opened.dataset.with_checked(literature_split="60")
    opened.train(["mlp"], "60", 2)
    finish(opened)
    honest, marked = opened.to_dict()["trained"]
    assert (honest["untested_classes"], honest["unvalidated_classes"]) == ([], [])
    assert (marked["untested_classes"], marked["unvalidated_classes"]) == (["1"], ["1"])
