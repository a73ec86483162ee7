from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from unifilter.experiments.engine.store import Store, move_aside

ROW = {"measure": "train", "outcome": {"test_accuracy": 0.5, "weights": [0.25, -1.0]}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "cells.db"


def test_rows_are_there_again_when_the_store_is_opened_again(path: Path) -> None:
    with Store(path) as store:
        store.put("a", ROW)
        assert store.get("a") == ROW
    with Store(path) as store:
        assert ("a" in store, "b" in store, len(store)) == (True, False, 1)
        assert store.get("a") == ROW
        assert store.get("b") is None
        assert store.set_aside is None


def test_a_row_is_on_disk_before_put_returns(path: Path) -> None:
    with Store(path) as store:
        store.put("a", ROW)
        copy = path.with_name("copy.db")
        copy.write_bytes(path.read_bytes())  # what a kill would leave
    with Store(copy) as store:
        assert store.get("a") == ROW


def test_what_is_not_a_number_is_refused(path: Path) -> None:
    with Store(path) as store:
        with pytest.raises(ValueError, match="JSON compliant"):
            store.put("a", {"outcome": float("nan")})
        assert "a" not in store


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"not a database at all, but as long as one would be" * 50,
        lambda content: content[: len(content) // 2],
        lambda content: content.replace(b'"test_accuracy": 0.5', b'"test_accuracy": 0.9'),
    ],
    ids=["another file", "cut off", "one digit changed"],
)
def test_a_damaged_store_is_set_aside_and_never_overwritten(path: Path, damage) -> None:  # type: ignore[no-untyped-def]
    with Store(path) as store:
        store.put("a", ROW)
    damaged = damage(path.read_bytes())
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)
    with Store(path) as store:
        assert store.set_aside == path.with_name("cells.db.damaged-1")
        assert len(store) == 0
        store.put("b", ROW)
    assert path.with_name("cells.db.damaged-1").read_bytes() == damaged
    path.write_bytes(damaged)
    with Store(path) as store:
        assert store.set_aside == path.with_name("cells.db.damaged-2")
    assert path.with_name("cells.db.damaged-1").read_bytes() == damaged


def test_a_database_of_another_program_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE photos (name TEXT)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match="written by another program or version: move it away, or pass another folder"):
        Store(path)
    assert path.read_bytes() == before


def test_only_one_process_writes(path: Path) -> None:
    with Store(path), pytest.raises(ValueError, match="another run is writing to .*: wait for it"):
        Store(path)


def test_a_folder_in_its_place_is_an_error(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(ValueError, match="cannot be used as a store .*pass another folder"):
        Store(path)


def test_a_file_that_is_moved_aside_takes_its_journal_along(tmp_path: Path) -> None:
    path = tmp_path / "cells.db"
    path.write_text("a")
    path.with_name("cells.db-journal").write_text("b")
    assert move_aside(path, "before").name == "cells.db.before-1"
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {
        "cells.db.before-1": "a",
        "cells.db.before-1-journal": "b",
    }


def test_rows_are_json_in_one_table(path: Path) -> None:
    with Store(path) as store:
        store.put("a", ROW)
    connection = sqlite3.connect(path)
    [(key, text, digest)] = connection.execute("SELECT * FROM cells").fetchall()
    connection.close()
    assert (key, json.loads(text), len(digest)) == ("a", ROW, 64)
