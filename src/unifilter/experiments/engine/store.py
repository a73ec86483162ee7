"""A store of finished cells: a SQLite file with a single writer that stays valid if the process is killed."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Any

# SQLite application id, "UniF" in ASCII, so that files of other programs are recognized.
_APPLICATION = 0x556E6946
_FORM = 1


class DamagedStoreError(Exception):
    """The file is not a valid store."""


class Store:
    """Rows by key.

    This uses SQLite's rollback journal rather than its write-ahead log: a row is in one file as soon as :meth:`put`
    returns, an interrupted write is rolled back when the file is next opened, and the file can be copied as it is.
    While the store is open, no other process can write to it.

    Args:
        path: The file; created if it does not exist.

    Attributes:
        set_aside: Where a damaged file was moved to, or ``None``.
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
        """Store a row. It is on disk when this returns."""
        text = json.dumps(row, allow_nan=False)
        with self._connection:
            self._connection.execute("INSERT OR REPLACE INTO cells VALUES (?, ?, ?)", (key, text, _digest(key, text)))
        self._rows[key] = json.loads(text)

    def close(self) -> None:
        self._connection.close()


def move_aside(path: Path, why: str) -> Path:
    """Rename a file, with its journal, to a free name such as ``cells.db.damaged-1``."""
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
            raise DamagedStoreError(f"the row of {key} has changed since it was written")
        rows[key] = json.loads(text)
    return rows


def _digest(key: str, text: str) -> str:
    return hashlib.sha256(f"{key}\n{text}".encode()).hexdigest()
