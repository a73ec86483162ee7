from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from unifilter.datasets.catalog import DataFile, Form
from unifilter.datasets.storage import check_file, data_directory, missing_files, place

TEXAS = DataFile("npz/texas.npz")


def test_the_argument_goes_before_the_variable_before_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNIFILTER_DATA", str(tmp_path / "variable"))
    assert data_directory(tmp_path / "argument") == tmp_path / "argument"
    assert data_directory() == tmp_path / "variable"
    for unset in ("", None):
        monkeypatch.delenv("UNIFILTER_DATA", raising=False)
        if unset is not None:
            monkeypatch.setenv("UNIFILTER_DATA", unset)
        monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: f"/caches/{name}")
        assert data_directory() == Path("/caches/unifilter")
    assert data_directory("~/data") == Path.home() / "data"


def test_only_what_must_be_there_is_missed(tmp_path: Path) -> None:
    form = Form("npz", (DataFile("a/one"), DataFile("a/two"), DataFile("b/three", optional=True)))
    (tmp_path / "a").mkdir()
    (tmp_path / "a/two").touch()
    assert [file.path for file in missing_files(form, tmp_path)] == ["a/one"]


def test_a_file_with_another_sum_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "texas.npz"
    path.write_bytes(b"not texas")
    digest = hashlib.sha256(b"not texas").hexdigest()
    with pytest.raises(ValueError, match=f"has the sha256 {digest}, but the published file has {TEXAS.sha256}.*delete"):
        check_file(path, TEXAS)
    assert check_file(path, DataFile("npz/unheard-of.npz")) == digest


def test_a_placed_file_is_whole_and_alone(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "deep/er/target"
    source.write_bytes(b"new")
    place(source, target)
    assert target.read_bytes() == b"new"
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("step", ["shutil.copyfileobj", "os.fsync", "os.replace"])
def test_an_interrupted_copy_leaves_the_old_file_and_nothing_else(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = tmp_path / "source", tmp_path / "data/target"
    source.write_bytes(b"new")
    target.parent.mkdir()
    target.write_bytes(b"old")

    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        place(source, target)
    assert target.read_bytes() == b"old"
    assert list(target.parent.iterdir()) == [target]


def test_bytes_are_on_the_disk_before_they_get_their_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = []
    sync, rename = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda descriptor: (steps.append("sync"), sync(descriptor)))
    monkeypatch.setattr(os, "replace", lambda *paths: (steps.append("rename"), rename(*paths)))
    (tmp_path / "source").write_bytes(b"new")
    place(tmp_path / "source", tmp_path / "target")
    assert steps == ["sync", "rename"]


def test_a_reader_never_sees_half_a_file_that_others_are_placing(tmp_path: Path) -> None:
    content = os.urandom(300_000)
    source, target = tmp_path / "source", tmp_path / "data/target"
    source.write_bytes(content)
    with ThreadPoolExecutor(4) as writers:
        running = [writers.submit(place, source, target) for _ in range(40)]
        while not all(one.done() for one in running):
            if target.exists():
                assert target.read_bytes() == content
        for one in running:
            one.result()
    assert list(target.parent.iterdir()) == [target]
