from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from explore.small_sessions import LIMIT
from hypothesis import given
from hypothesis import strategies as st

from unifilter.explore.uploads import TooLargeError, limited, new_folder, receive


async def parts(data: bytes, size: int = 1000) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def received(folder: Path, data: bytes = b"", name: str = "mine.npz", limit: int = LIMIT) -> Path:
    return asyncio.run(receive(parts(data), [name], [str(len(data))], limit, folder))


@pytest.mark.parametrize("name", ["../../escape.npz", "/etc/escape.npz", "..\\escape.npz", "a/b<script>.npz"])
def test_a_name_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    path = received(tmp_path, name=name)
    assert path.parent == tmp_path
    assert path.name in ("escape.npz", "b_script_.npz")


@given(stem=st.text(max_size=300), kind=st.sampled_from(["npz", "pt", "zip", "GRAPHML"]))
def test_any_name_is_stored_in_its_folder_or_refused(stem: str, kind: str) -> None:
    with new_folder() as folder:
        try:
            path = received(Path(folder), b"data", f"{stem}.{kind}")
        except ValueError as error:
            path, refusal = None, str(error)
        if path is None:
            assert "cannot be read: upload" in refusal or "is longer than 255 bytes: rename the file" in refusal
            assert list(Path(folder).iterdir()) == []
        else:
            assert list(Path(folder).iterdir()) == [path]
            assert (path.read_bytes(), path.suffix) == (b"data", f".{kind.lower()}")


@pytest.mark.parametrize(
    "name", ["graph.pkl", "", ".npz", "..zip", "...zip", "graph.npz.exe", "graph", "graph.csv", "npz"]
)
def test_other_kinds_of_files_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        ValueError, match=r"cannot be read: upload an \.npz, \.pt, \.pth or \.graphml file, or the tables"
    ):
        received(tmp_path, name=name)


@pytest.mark.parametrize("letter", ["\N{LATIN SMALL LETTER E WITH ACUTE}", "\u56fe", "\U00020000"])
def test_a_long_name_is_refused_whatever_its_letters_take(tmp_path: Path, letter: str) -> None:
    fits = (255 - len(".npz")) // len(letter.encode())
    assert received(tmp_path, name=letter * fits + ".npz").exists()
    with pytest.raises(ValueError, match=r"is longer than 255 bytes: rename the file"):
        received(tmp_path, name=letter * (fits + 1) + ".npz")


def test_tables_go_into_one_folder(tmp_path: Path) -> None:
    path = asyncio.run(receive(parts(b"abcdef", 4), ["edges.csv", "nodes.CSV"], ["5", "1"], LIMIT, tmp_path))
    assert path == tmp_path / "tables"
    assert {file.name: file.read_bytes() for file in path.iterdir()} == {"edges.csv": b"abcde", "nodes.csv": b"f"}


@pytest.mark.parametrize(
    "names",
    [
        ["nodes.csv"],
        ["nodes.csv", "nodes.csv"],
        ["nodes.csv", "nodes.parquet"],
        ["nodes.csv", "edges.txt"],
        ["nodes.csv", "edges.csv", "edges.parquet"],
        ["nodes.csv", "a.npz"],
        ["a.npz", "b.npz"],
        ["nodes.csv", "edges.csv", "more.csv", "and.csv"],
    ],
)
def test_files_that_are_no_data_set_are_refused(tmp_path: Path, names: list[str]) -> None:
    with pytest.raises(ValueError, match="cannot be read as one data set: upload an .npz"):
        asyncio.run(receive(parts(b""), names, ["0"] * len(names), LIMIT, tmp_path))
    assert list(tmp_path.iterdir()) == []


@given(first=st.integers(0, 50), second=st.integers(0, 50), size=st.integers(1, 20))
def test_a_body_is_divided_where_it_says(first: int, second: int, size: int) -> None:
    data = bytes(range(first + second))
    with new_folder() as folder:
        sizes = [str(first), str(second)]
        path = asyncio.run(receive(parts(data, size), ["nodes.csv", "edges.csv"], sizes, LIMIT, Path(folder)))
        assert (path / "nodes.csv").read_bytes() == data[:first]
        assert (path / "edges.csv").read_bytes() == data[first:]


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    assert received(tmp_path, bytes(5000), "fits.npz", limit=5000).stat().st_size == 5000
    with pytest.raises(TooLargeError, match=r"mine.npz has 0.1 MB, more than the limit of 0.0 MB: start the"):
        received(tmp_path, bytes(50_000), limit=5000)
    assert not (tmp_path / "mine.npz").exists()


def test_no_more_is_stored_than_was_announced(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="mine.npz has more bytes than announced: send it again"):
        asyncio.run(receive(parts(bytes(50_000)), ["mine.npz"], ["5000"], LIMIT, tmp_path))
    assert (tmp_path / "mine.npz").stat().st_size <= 5000


def test_a_stream_is_cut_off_at_the_limit() -> None:
    async def total() -> int:
        return sum([len(part) async for part in limited(parts(bytes(5000)), 4999, "the request")])

    with pytest.raises(TooLargeError, match="the request is more than the limit of 0.0 MB"):
        asyncio.run(total())


def test_a_disk_that_takes_nothing_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="mine.npz cannot be stored on this machine: No such file or directory"):
        received(tmp_path / "gone")
