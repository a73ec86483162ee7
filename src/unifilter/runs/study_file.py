"""The file of a study, used by one process at a time and written atomically."""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import StorageInternalError
from optuna.trial import TrialState
from sqlalchemy.exc import SQLAlchemyError

_NAME = "unifilter"

# Errors raised for a file that cannot be read or written, depending on which layer detects it.
STORAGE_ERRORS = (StorageInternalError, SQLAlchemyError, sqlite3.Error)


@contextmanager
def opened_study(file: Path | None, pruner: optuna.pruners.BasePruner) -> Iterator[optuna.Study]:
    """Open the study in a file, or create it. Without a file the study is in memory.

    Trials that a killed process left running are marked as failed.

    Args:
        file: The file. Other processes cannot open it at the same time.
        pruner: The pruner that stops trials early.

    Raises:
        ValueError: If the file is not a study, is in use, or cannot be written.
    """
    if file is None:
        yield optuna.create_study(pruner=pruner, study_name=_NAME, direction="maximize")
        return
    if not file.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {file.parent} for the study {file.name}: create it first")
    with _clear_errors(file), _one_process(file):
        if file.exists():
            _check_study(file)
        else:
            _create(file)
        with _storage(file) as storage:
            study = optuna.load_study(study_name=_NAME, storage=storage, pruner=pruner)
            for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
                # No other process uses the file, so the process that ran this trial was killed.
                study.tell(trial.number, state=TrialState.FAIL)
            yield study


@contextmanager
def _one_process(file: Path) -> Iterator[None]:
    """Hold a lock that the operating system releases when the process ends."""
    # A separate file: a lock on the study itself would block its owner as well.
    with closing(sqlite3.connect(file.with_name(f"{file.name}-lock"), timeout=0, isolation_level=None)) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            raise ValueError(
                f"another process is searching in {file}: wait until it ends, or pass another study file"
            ) from None
        yield


def _create(file: Path) -> None:
    """Create an empty study, atomically."""
    part = file.with_name(f".{file.name}.{uuid.uuid4().hex}.part")
    try:
        with _storage(part) as storage:
            optuna.create_study(storage=storage, study_name=_NAME, direction="maximize")
        os.replace(part, file)
    finally:
        for left in (part, part.with_name(f"{part.name}-journal")):
            left.unlink(missing_ok=True)


@contextmanager
def _storage(file: Path) -> Iterator[optuna.storages.RDBStorage]:
    storage = optuna.storages.RDBStorage(f"sqlite:///{file}")
    try:
        yield storage
    finally:
        storage.remove_session()
        storage.engine.dispose()


def _check_study(file: Path) -> None:
    """Reject a file that is not a study before anything is written to it."""
    try:
        # Not read-only, so that SQLite can roll back a write that a killed process left incomplete.
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=rw", uri=True)) as connection:
            sound = connection.execute("PRAGMA quick_check").fetchone() == ("ok",)
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            named = {"studies", "trials"} <= tables and connection.execute(
                "SELECT 1 FROM studies WHERE study_name = ?", (_NAME,)
            ).fetchone()
    except sqlite3.DatabaseError as error:
        raise _bad_study(file, str(error)) from None
    if not sound or not named:
        raise _bad_study(file, "it has no trials" if sound else "it is damaged")


def _bad_study(file: Path, reason: str) -> ValueError:
    return ValueError(f"{file} is not a study that can be resumed ({reason}): restore it, or pass another study file")


@contextmanager
def _clear_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except STORAGE_ERRORS as error:
        raise ValueError(
            f"the study {file} cannot be written ({_reason(error)}): free some space, or pass a study file in a "
            "writable folder; the trials stored so far are kept"
        ) from error


def _reason(error: BaseException) -> str:
    """The message of the database, without the wrappers around it."""
    cause: Any = error
    while (inner := getattr(cause, "orig", None) or cause.__cause__) is not None:
        cause = inner
    return str(cause).splitlines()[0] if str(cause) else type(cause).__name__
