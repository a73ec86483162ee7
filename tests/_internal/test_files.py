from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from unifilter._internal.files import whole_file, whole_text_file, write_csv


def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    write_csv(path, ["a", "b"], [[1, "ü, x"]])
    before = path.read_bytes()
    assert before == 'a,b\r\n1,"ü, x"\r\n'.encode()

    def rows() -> Iterator[list[int]]:
        yield [2, 3]
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="the disk is full"):
        write_csv(path, ["a", "b"], rows())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_nobody_sees_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "whole"
    with whole_file(path) as file:
        file.write(b"half")
        file.flush()
        assert not path.exists()
        file.write(b" and half")
    assert path.read_bytes() == b"half and half"
    with whole_text_file(path) as text:
        text.write("new\n")
        assert path.read_bytes() == b"half and half"
    assert path.read_bytes() == b"new\n"
    with open(tmp_path / "plain", "w"):
        pass
    # Readable to the same people as any other file.
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder .*absent to write table.csv to: create it first"):
        write_csv(tmp_path / "absent" / "table.csv", [], [])
