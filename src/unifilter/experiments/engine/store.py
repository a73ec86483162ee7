"""Finished cells on disk: one SQLite file, one writer, whole at any moment it may be killed."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Any

# Marks a file as ours, so that another program's SQLite file is not taken for it: "UniF" in ASCII.
_APPLICATION = 0x556E6946
_FORM = 1


class DamagedStoreError(Exception):
    """The file is no whole store."""


class Store:
    """Rows by their key.

    SQLite's rollback journal is kept rather than its write-ahead log: a row is in one file as soon as :meth:`put`
    returns, a kill in the middle of a write is undone by whoever opens the file next, and the file can be copied as it
    is. While it is open no other process can write to it.

    Args:
        path: The file; made if it is not there.

    Attributes:
        set_aside: Where a damaged file was moved to, if there was one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.set_aside: Path | None = None
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._connection, self._rows = _open(path)
        except DamagedStoreError:
            self.set_aside = move_aside(path, "damaged")
            self._connection, self._rows = _open(path)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: str) -> bool:
        return key in self._rows

    def get(self, key: str) -> dict[str, Any] | None:
        return self._rows.get(key)

    def put(self, key: str, row: dict[str, Any]) -> None:
        """Keeps a row; it is on disk when this returns."""
        text = json.dumps(row, allow_nan=False)
        with self._connection:
            self._connection.execute("INSERT OR REPLACE INTO cells VALUES (?, ?, ?)", (key, text, _digest(key, text)))
        self._rows[key] = json.loads(text)

    def close(self) -> None:
        self._connection.close()


def move_aside(path: Path, why: str) -> Path:
    """Renames a file to a name that is free, such as ``cells.db.damaged-1``; its journal goes with it."""
    number = 1
    while (target := path.with_name(f"{path.name}.{why}-{number}")).exists():
        number += 1
    path.rename(target)
    journal = path.with_name(f"{path.name}-journal")
    if journal.exists():
        journal.rename(target.with_name(f"{target.name}-journal"))
    return target


def _open(path: Path) -> tuple[sqlite3.Connection, dict[str, dict[str, Any]]]:
    try:
        connection = sqlite3.connect(path, timeout=1.0)
    except sqlite3.OperationalError as error:
        raise ValueError(f"{path} cannot be used as a store ({error}): pass another folder") from error
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN EXCLUSIVE")
        connection.commit()
        return connection, _read(connection, path)
    except sqlite3.OperationalError as error:
        connection.close()
        if "locked" not in str(error):
            raise ValueError(f"{path} cannot be used as a store ({error}): pass another folder") from error
        raise ValueError(f"another run is writing to {path}: wait for it, or pass another folder") from error
    except sqlite3.DatabaseError as error:
        connection.close()
        raise DamagedStoreError(str(error)) from error
    except BaseException:
        connection.close()
        raise


def _read(connection: sqlite3.Connection, path: Path) -> dict[str, dict[str, Any]]:
    if connection.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
        raise DamagedStoreError("the integrity check failed")
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    form = connection.execute("PRAGMA user_version").fetchone()[0]
    if not tables and application == 0:
        with connection:
            connection.execute("BEGIN")
            connection.execute("CREATE TABLE cells (key TEXT PRIMARY KEY, row TEXT NOT NULL, digest TEXT NOT NULL)")
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_FORM}")
        return {}
    if application != _APPLICATION or form != _FORM:
        raise ValueError(f"{path} was written by another program or version: move it away, or pass another folder")
    rows = {}
    for key, text, digest in connection.execute("SELECT key, row, digest FROM cells"):
        if digest != _digest(key, text):
            raise DamagedStoreError(f"the row of {key} is not what was written")
        rows[key] = json.loads(text)
    return rows


def _digest(key: str, text: str) -> str:
    return hashlib.sha256(f"{key}\n{text}".encode()).hexdigest()
