"""The file that keeps a study: for one process at a time, whole or not there."""

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

# What a file that cannot be read or written raises, depending on who notices first.
STORAGE_ERRORS = (StorageInternalError, SQLAlchemyError, sqlite3.Error)


@contextmanager
def opened_study(file: Path | None, pruner: optuna.pruners.BasePruner) -> Iterator[optuna.Study]:
    """The study in a file, or a new one; without a file it lives in memory.

    Trials that a killed process left running are marked as failed.

    Args:
        file: The file. No other process can open it meanwhile.
        pruner: Gives trials up.

    Raises:
        ValueError: The file is no study, is in use, or cannot be written.
    """
    if file is None:
        yield optuna.create_study(pruner=pruner, study_name=_NAME, direction="maximize")
        return
    if not file.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {file.parent} to keep the study {file.name} in: create it first")
    with _clear_errors(file), _one_process(file):
        if file.exists():
            _check_study(file)
        else:
            _create(file)
        with _storage(file) as storage:
            study = optuna.load_study(study_name=_NAME, storage=storage, pruner=pruner)
            for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
                # Nobody else is at work here, so whoever ran it was killed.
                study.tell(trial.number, state=TrialState.FAIL)
            yield study


@contextmanager
def _one_process(file: Path) -> Iterator[None]:
    """Holds a lock that the system takes back when the process ends, however it ends."""
    # On a file of its own, which stays: in the study itself it would keep out its owner too.
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
    """An empty study, in a file that takes its name when all of it is there."""
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
    """Refuses what is no study before anything is written to it."""
    try:
        # Not read-only: what a killed process left half-written is taken back when the file is next opened.
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
            f"the study {file} cannot be written ({_reason(error)}): free some space, or pass a study file in a folder "
            "that can be written to; the trials that are in it are kept"
        ) from error


def _reason(error: BaseException) -> str:
    """What the database says, without what was made of it on the way."""
    cause: Any = error
    while (inner := getattr(cause, "orig", None) or cause.__cause__) is not None:
        cause = inner
    return str(cause).splitlines()[0] if str(cause) else type(cause).__name__
