from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

from unifilter.training import Checkpoint


class Payload:
    """Runs code when it is unpickled, as no file of ours may."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (os._exit, (1,))


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "deep" / "run.pt", "run 1")
    assert checkpoint.load() is None
    state = {"weights": {"a": torch.randn(3)}, "losses": [1.0, float("-inf")], "ended": ""}
    checkpoint.save(state)
    loaded = checkpoint.load()
    assert loaded is not None
    assert loaded["losses"] == state["losses"]
    assert torch.equal(loaded["weights"]["a"], state["weights"]["a"])  # type: ignore[index]
    assert loaded.keys() == state.keys()
    assert os.listdir(tmp_path / "deep") == ["run.pt"]


def test_deleting_what_is_not_there_is_no_error(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "run.pt", "run 1")
    checkpoint.save({})
    checkpoint.delete()
    checkpoint.delete()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("failure", [OSError("disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("where", ["torch.save", "os.fsync", "os.replace"])
def test_a_failure_while_saving_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, failure: BaseException
) -> None:
    checkpoint = Checkpoint(tmp_path / "run.pt", "run 1")
    checkpoint.save({"epoch": 1})

    def fail(*arguments: Any) -> None:
        if where == "torch.save":
            arguments[1].write(b"half a state")
        raise failure

    monkeypatch.setattr(where, fail)
    with pytest.raises(type(failure)):
        checkpoint.save({"epoch": 2})
    monkeypatch.undo()
    assert checkpoint.load() == {"epoch": 1}
    assert os.listdir(tmp_path) == ["run.pt"]


def test_a_file_of_another_run_is_refused(tmp_path: Path) -> None:
    Checkpoint(tmp_path / "run.pt", "run 1").save({"epoch": 1})
    with pytest.raises(ValueError, match=r"run.pt belongs to a run with other settings or other data: resume with the"):
        Checkpoint(tmp_path / "run.pt", "run 2").load()
    torch.save({"fingerprint": "run 2", "epoch": 1}, tmp_path / "foreign.pt")
    with pytest.raises(
        ValueError,
        match=r"foreign.pt is not a readable checkpoint \(it is not a checkpoint, or was written by another v",
    ):
        Checkpoint(tmp_path / "foreign.pt", "run 2").load()


def test_a_byte_changed_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    checkpoint = Checkpoint(path, "run 1")
    checkpoint.save({"weights": torch.randn(20), "history": {"loss": [1.0, 0.5]}})
    content = path.read_bytes()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1
        path.write_bytes(changed)
        with pytest.raises(ValueError, match=r"run.pt is not a readable checkpoint \(it .*: delete it to start again"):
            checkpoint.load()
    path.write_bytes(content + b"\0")
    with pytest.raises(ValueError, match="it has changed since it was saved: its digest is wrong"):
        checkpoint.load()


@pytest.mark.parametrize("damage", ["empty", "cut", "text", "tensor", "pickle"])
def test_a_file_that_is_no_checkpoint_is_refused(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "run.pt"
    checkpoint = Checkpoint(path, "run 1")
    checkpoint.save({"weights": torch.randn(1000)})
    if damage == "tensor":
        torch.save(torch.tensor(1.0), path)
    else:
        content = {"empty": b"", "cut": path.read_bytes()[:2000], "text": b"hello", "pickle": pickle.dumps(Payload())}
        path.write_bytes(content[damage])
    with pytest.raises(ValueError, match=r"run.pt is not a readable checkpoint \((.|\n)*: delete it to start again"):
        checkpoint.load()
