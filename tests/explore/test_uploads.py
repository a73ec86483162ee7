from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from explore.small_sessions import LIMIT, bomb, npz, pickled

from unifilter.datasets.formats import npz as npz_reader
from unifilter.explore.uploads import TooLargeError, read_upload, receive


async def parts(data: bytes, size: int = 1000) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def received(folder: Path, data: bytes, name: str = "mine.npz", limit: int = LIMIT) -> Path:
    return asyncio.run(receive(parts(data), name, limit, folder))


def read(folder: Path, data: bytes) -> None:
    read_upload(received(folder, data), LIMIT)


def test_a_good_file_is_a_data_set(tmp_path: Path) -> None:
    dataset = read_upload(received(tmp_path, npz(), "my graph.npz"), LIMIT)
    assert (dataset.name, dataset.num_nodes, dataset.num_classes) == ("my graph", 30, 2)


@pytest.mark.parametrize("name", ["../../escape.npz", "/etc/escape.npz", "..\\escape.npz", "a/b<script>.npz"])
def test_a_name_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    path = received(tmp_path, b"", name)
    assert path.parent == tmp_path
    assert path.name in ("escape.npz", "b_script_.npz")


@pytest.mark.parametrize("name", ["graph.pkl", "", ".npz", "graph.npz.exe"])
def test_other_kinds_of_files_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="is not an .npz file: upload one"):
        received(tmp_path, b"", name)


def test_a_file_is_cut_off_at_the_limit(tmp_path: Path) -> None:
    assert received(tmp_path, bytes(5000), "fits.npz", limit=5000).stat().st_size == 5000
    with pytest.raises(
        TooLargeError, match=r"mine.npz is more than the 0.0 MB that are allowed: start the server with a larger limit"
    ):
        received(tmp_path, bytes(50_000), limit=5000)
    # No more than the limit and one part was ever written.
    assert (tmp_path / "mine.npz").stat().st_size <= 5000


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (npz()[:400], r"^mine.npz is not a whole .npz file \(.*\): download or write it again"),
        (b"words", r"^mine.npz is not a whole .npz file \(not a zip file\)"),
        (npz(edges=None), "^mine.npz has no array 'edges', it has node_features, node_labels: add it"),
        (npz(edges=np.zeros((2, 9), dtype=int)), r"^edges in mine.npz must have shape \[num_edges, 2\]"),
        (npz(node_labels=np.arange(29) % 2), "30"),
        (npz(train_masks=np.ones(30, dtype=bool)), "^mine.npz has train_masks but no val_masks"),
        (bomb(), r"^mine.npz unpacks to 20.0 MB, more than the 10.0 MB that are allowed"),
    ],
)
def test_a_broken_file_is_named_and_no_folder_of_ours(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        read(tmp_path, data)
    assert str(tmp_path) not in str(caught.value)


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    with pytest.raises(ValueError, match="^mine.npz holds Python objects, which could run code and are not read"):
        read(tmp_path, pickled(marker))
    assert not marker.exists()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "mine.npz needs more memory than there is: upload a smaller file"),
        (NotImplementedError("odd"), r"mine.npz cannot be read \(NotImplementedError: odd\): write it again"),
    ],
)
def test_whatever_a_file_does_is_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    def fail(path: Path) -> None:
        raise error

    monkeypatch.setattr(npz_reader, "read", fail)
    with pytest.raises(ValueError, match=message):
        read(tmp_path, npz())
