"""A temporary folder ends with its process, in whatever way that ends."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest
from processes import killed_at

from unifilter._internal import scratch
from unifilter._internal.scratch import remove_abandoned, scratch_folder


class Work:
    @staticmethod
    def done() -> None:
        pass


def test_it_is_there_while_it_is_used(tmp_path: Path) -> None:
    with scratch_folder(tmp_path) as folder:
        (folder / "file").touch()
        remove_abandoned(tmp_path)
        assert (folder / "file").exists()
        with scratch_folder(tmp_path) as other:
            assert other != folder
        assert os.listdir(tmp_path) == [folder.name]
    assert os.listdir(tmp_path) == []


def test_what_a_killed_process_left_is_deleted_by_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()

    def work() -> None:
        with scratch_folder(tmp_path) as folder:
            (folder / "file").touch()
            Work.done()

    assert killed_at(Work, "done", 1, work) == signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 2
    with scratch_folder(tmp_path) as folder:
        assert sorted(os.listdir(tmp_path)) == [folder.name, "mine"]


def test_a_folder_that_is_deleted_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, made = scratch.tempfile.mkdtemp, []

    def and_taken(**options: Path) -> str:
        made.append(make(**options))  # type: ignore[call-overload]
        if len(made) == 1:
            shutil.rmtree(made[0])
        return str(made[-1])

    monkeypatch.setattr(scratch.tempfile, "mkdtemp", and_taken)
    with scratch_folder(tmp_path) as folder:
        assert str(folder) == made[1]
