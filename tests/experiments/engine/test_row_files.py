from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from unifilter.experiments.engine.cells import key_of
from unifilter.experiments.engine.row_files import (
    PACKAGED_ROWS,
    Row,
    by_key,
    find_rows,
    packaged_rows,
    read_rows,
    write_rows,
)


def row(**changes: object) -> Row:
    return {
        "experiment": "figure-tau", "at": {"dataset": "cora", "tau": 0.1}, "dataset": "cora", "measure": "train",
        "method": "unifilter", "version": 1, "split": "random-60-20-20", "index": 0, "checksum": "1" * 60 + "e123",
        "settings": {"tau": 0.1, "homophily": None, "seed": 51290},
        "outcome": {"test_accuracy": 0.875, "weights": [0.5]},
    } | changes  # fmt: skip


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    rows = [row(), row(index=1, outcome={"ended": "patience", "test_accuracy": 1.0})]
    write_rows(tmp_path / "new" / "results.csv", rows)
    assert read_rows(tmp_path / "new" / "results.csv") == rows
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["results.csv"]


def test_the_key_is_the_same_before_and_after(tmp_path: Path) -> None:
    write_rows(tmp_path / "results.csv", [row()])
    assert list(by_key(read_rows(tmp_path / "results.csv"))) == [key_of(row())]


@pytest.mark.parametrize(
    "change", [{"version": 2}, {"checksum": "f"}, {"split": "given"}, {"index": 1}, {"method": "gcn"}, {"settings": {}}]
)
def test_what_a_key_depends_on(change: dict[str, object]) -> None:
    assert key_of(row(**change)) != key_of(row())


@pytest.mark.parametrize("change", [{"dataset": "mine"}, {"at": {}}, {"experiment": "theorems"}, {"outcome": {}}])
def test_what_a_key_does_not_depend_on(change: dict[str, object]) -> None:
    assert key_of(row(**change)) == key_of(row())


def test_rows_are_found_in_files_and_below_folders(tmp_path: Path) -> None:
    write_rows(tmp_path / "a" / "b" / "results.csv", [row()])
    write_rows(tmp_path / "c.csv", [row(index=1), row(index=2)])
    assert [found["index"] for found in find_rows([tmp_path / "a", tmp_path / "c.csv"])] == [0, 1, 2]
    with pytest.raises(FileNotFoundError, match="no file or folder .*nowhere: pass CSV files of rows"):
        find_rows([tmp_path / "nowhere"])


def test_gzipped_rows_are_the_same_rows(tmp_path: Path) -> None:
    rows = [row(), row(index=1, outcome={"test_accuracy": 1 / 3})]
    for name in ("a.csv.gz", "b.csv.gz"):
        write_rows(tmp_path / name, rows)
    assert read_rows(tmp_path / "a.csv.gz") == rows
    assert find_rows([tmp_path]) == rows + rows
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


@pytest.mark.parametrize("damage", [lambda whole: whole[:-20], lambda whole: whole[1:], lambda whole: b""])
def test_a_damaged_gzipped_file_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "rows.csv.gz"
    write_rows(path, [row()])
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=r"rows\.csv\.gz (cannot be read as gzip|is not a file of rows)"):
        read_rows(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a file of rows: it must start with the columns experiment, at"),
        ("a,b\n1,2\n", "is not a file of rows"),
        ("{header}\nfigure-tau,{{}}\n", "line 2 of .* has 2 columns, not 10"),
        (
            "{header}\nfigure-tau,{{,cora,train,gcn,1,60,0,f,{{}}\n",
            "line 2 of .* cannot be read .*write the file",
        ),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    header = "experiment,at,dataset,measure,method,version,split,index,checksum,settings"
    path = tmp_path / "rows.csv"
    path.write_text(text.format(header=header) if text else text)
    with pytest.raises(ValueError, match=message):
        read_rows(path)


def test_rows_of_the_package_can_be_read_and_take_little_space() -> None:
    assert all(found["experiment"] for found in packaged_rows())
    files = list(PACKAGED_ROWS.iterdir())
    assert {"".join(path.suffixes) for path in files} == {".csv.gz", ".md"}
    assert sum(path.stat().st_size for path in files) < 500_000
