from __future__ import annotations

import io
import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from explore.small_sessions import LIMIT, bomb, graphml, npz, pickled, saved, tables, zipped
from hypothesis import given
from hypothesis import strategies as st

from unifilter._internal.extras import MissingExtraError
from unifilter.data import NodeDataset
from unifilter.datasets import load_dataset
from unifilter.explore import reading
from unifilter.explore.reading import read_upload
from unifilter.explore.uploads import TooLargeError, new_folder


def read(folder: Path, data: bytes, name: str = "mine.npz") -> NodeDataset:
    (folder / name).write_bytes(data)
    return read_upload(folder / name, LIMIT)


FILES = {"my graph.npz": npz(), "my graph.pt": saved(), "my graph.pth": saved(), "my graph.graphml": graphml()}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_what_the_library_reads(tmp_path: Path, name: str) -> None:
    dataset = read(tmp_path, FILES[name], name)
    assert (dataset.name, dataset.num_nodes, dataset.num_classes) == ("my graph", 30, 2)
    assert dataset.checksum == load_dataset(tmp_path / name).checksum


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("inside", ["", "my graph/", "a/b/c/", "../../", "/etc/"])
def test_tables_in_a_zip_are_those_of_a_folder(tmp_path: Path, kind: str, inside: str) -> None:
    others = {f"__MACOSX/._nodes.{kind}": b"", f"__MACOSX/nodes.{kind}": b"", "../escape.csv": b"x", "README": b"x"}
    members = {f"{inside}{name}": data for name, data in tables(kind).items()}
    (tmp_path / "uploads").mkdir()
    dataset = read(tmp_path / "uploads", zipped(others | members), "my graph.zip")
    assert (dataset.name, dataset.num_nodes, dataset.num_classes) == ("my graph", 30, 2)
    (tmp_path / "folder").mkdir()
    for name, data in tables(kind).items():
        (tmp_path / "folder" / name).write_bytes(data)
    assert dataset.checksum == load_dataset(tmp_path / "folder").checksum
    # Nothing else was written, there or anywhere near.
    written = {str(path.relative_to(tmp_path)) for path in (tmp_path / "uploads").rglob("*") if path.is_file()}
    assert written == {"uploads/my graph.zip", f"uploads/my graph/nodes.{kind}", f"uploads/my graph/edges.{kind}"}
    assert not (tmp_path / "escape.csv").exists()


def encrypted() -> bytes:
    """A zip whose members say that they are encrypted."""
    data = bytearray(zipped(tables()))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = data.find(signature)
        while start >= 0:
            data[start + offset] |= 1
            start = data.find(signature, start + 1)
    return bytes(data)


def understated() -> bytes:
    """A zip whose nodes are larger than it says, by far."""
    nodes = tables()["nodes.csv"]
    data = zipped({"nodes.csv": nodes + b"n1,0\n" * 100_000, "edges.csv": tables()["edges.csv"]})
    said = struct.pack("<I", len(nodes) + 500_000)
    return data.replace(said, struct.pack("<I", 100))


def repeated(rows: int = 10_000_000) -> bytes:
    """A parquet file of a few kilobytes with millions of rows."""
    file = io.BytesIO()
    pd.DataFrame({"id": np.zeros(rows, dtype=np.int64)}).to_parquet(file)
    assert len(file.getvalue()) < LIMIT
    return file.getvalue()


LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE g [<!ENTITY a "ha">%s]>
<graphml><graph edgedefault="undirected"><node id="&z;"/></graph></graphml>""" % b"".join(
    b'<!ENTITY %c "%s">' % (letter, b"&%c;" % before * 20)
    for before, letter in zip(b"abcdefghijkl", b"bcdefghijklz", strict=True)
)
OUTSIDE = b"""<?xml version="1.0"?><!DOCTYPE g [<!ENTITY e SYSTEM "file:///etc/passwd">]>
<graphml><graph edgedefault="undirected">%s</graph></graphml>"""
DEEP = b"<graphml>" + b"<graph>" * 140_000


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("mine.npz", npz()[:400], r"^mine.npz is not a complete .npz file \(.*\): download or write it again"),
        ("mine.npz", b"words", "^mine.npz is not a complete .npz file"),
        ("mine.npz", npz(edges=None), "^mine.npz has no array 'edges', it has node_features, node_labels: add it"),
        ("mine.npz", npz(edges=np.zeros((2, 9), dtype=int)), r"^edges in mine.npz must have shape \[num_edges, 2\]"),
        ("mine.npz", npz(node_labels=np.arange(29) % 2), "30"),
        ("mine.npz", npz(train_masks=np.ones(30, dtype=bool)), "^mine.npz has train_masks but no val_masks"),
        ("mine.npz", bomb(), r"^mine.npz unpacks to 20.0 MB, more than the limit of 10.0 MB"),
        ("mine.pt", bomb(), r"^mine.pt unpacks to 20.0 MB, more than the limit of 10.0 MB"),
        ("mine.pt", saved()[:500], "^mine.pt"),
        ("mine.pt", npz(), "^mine.pt"),
        ("mine.graphml", LAUGHS, "^mine.graphml cannot be read as GraphML: .*amplification"),
        ("mine.graphml", OUTSIDE % b'<node id="&e;"/>', "^mine.graphml cannot be read as GraphML: .* external entity"),
        ("mine.graphml", OUTSIDE % b"<node id='a'>&e;</node>", "^mine.graphml cannot be read as GraphML: .*entity"),
        ("mine.graphml", DEEP, "^mine.graphml cannot be read as GraphML"),
        ("mine.graphml", b"", "^mine.graphml cannot be read as GraphML: no element found"),
        ("mine.zip", b"words", r"^mine.zip is not a complete .zip file \(File is not a zip file\): write it again"),
        ("mine.zip", zipped(tables())[:-30], r"^mine.zip is not a complete .zip file"),
        ("mine.zip", zipped({}), "^mine has neither nodes.csv nor nodes.parquet: add one of them"),
        ("mine.zip", zipped({"nodes.csv": b"id\n1\n"}), "^mine has neither edges.csv nor edges.parquet"),
        ("mine.zip", zipped(tables() | tables("parquet")), "^mine has both nodes.csv and nodes.parquet"),
        ("mine.zip", zipped({"a/nodes.csv": b"", "b/nodes.csv": b""}), "^mine.zip has nodes.csv more than once: keep"),
        ("mine.zip", encrypted(), "^nodes.csv in mine.zip is encrypted: write the .zip without a password"),
        ("mine.zip", understated(), "^mine.zip is not a complete .zip file"),
        ("mine.zip", bomb(), "^mine.zip unpacks to 20.0 MB, more than the limit of 10.0 MB"),
        (
            "mine.zip",
            zipped({"nodes.parquet": repeated()}),
            "^nodes.parquet unpacks to 80.0 MB, more than the limit of 10.0 MB",
        ),
        ("mine.zip", zipped(tables() | {"nodes.csv": b"id,id\n1,2"}), "^mine/nodes.csv cannot be read as a table: two"),
        ("mine.zip", zipped(tables() | {"nodes.csv": b"name\n1\n"}), "^nodes.csv has no column 'id'"),
        ("mine.zip", zipped({"nodes.parquet": b"PAR1", "edges.parquet": b""}), "^mine/nodes.parquet cannot be read as"),
    ],
)
def test_a_broken_file_is_named_and_no_folder_of_ours(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    assert len(data) <= LIMIT
    with pytest.raises(ValueError, match=message) as caught:
        read(tmp_path, data, name)
    assert str(tmp_path) not in str(caught.value)


def test_tables_of_many_rows_are_refused_as_two_files_too(tmp_path: Path) -> None:
    (tmp_path / "nodes.parquet").write_bytes(repeated())
    with pytest.raises(TooLargeError, match="^nodes.parquet unpacks to 80.0 MB"):
        read_upload(tmp_path, LIMIT)


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    with pytest.raises(ValueError, match="^mine.npz contains Python objects, which could run code and are not read"):
        read(tmp_path, pickled(marker))
    with pytest.raises(ValueError, match="^mine.pt is not read, because reading could run code in it"):
        read(tmp_path, pickled_by_torch(marker), "mine.pt")
    assert not marker.exists()


def pickled_by_torch(marker: Path) -> bytes:
    import torch

    class Writes:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.write_text, (marker, "unpickled"))

    file = io.BytesIO()
    torch.save({"x": Writes()}, file)
    return file.getvalue()


WHOLE = {**FILES, "my graph.zip": zipped(tables())}


@given(data=st.data(), name=st.sampled_from(sorted(WHOLE)))
def test_a_changed_byte_is_read_or_refused(data: st.DataObject, name: str) -> None:
    changed = bytearray(WHOLE[name])
    place = data.draw(st.integers(0, len(changed) - 1))
    changed[place] ^= data.draw(st.integers(1, 255))
    with new_folder() as folder:
        message = ""
        try:
            assert read(Path(folder), bytes(changed), name).num_nodes > 0
        except ValueError as error:
            message = str(error)
        assert folder not in message


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "mine.npz needs more memory than is available: upload a smaller file"),
        (NotImplementedError("odd"), r"mine.npz cannot be read \(NotImplementedError: odd\): write it again"),
        (MissingExtraError("reading tables needs pandas: install it"), "^reading tables needs pandas: install it$"),
    ],
)
def test_whatever_a_file_does_is_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    def fail(path: Path) -> None:
        raise error

    monkeypatch.setattr(reading, "load_dataset", fail)
    with pytest.raises(ValueError, match=message):
        read(tmp_path, npz())
