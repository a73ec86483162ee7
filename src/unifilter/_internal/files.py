"""Write files atomically."""

from __future__ import annotations

import csv
import io
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from unifilter._internal.locks import folder_lock


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing. It appears under its name only when complete; after an error the old file remains."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to write {target.name} to: create it first")
    part = target.parent / f".{target.name}.{uuid.uuid4().hex}.part"
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def whole_text_file(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Like :func:`whole_file`, for UTF-8 text. Line ends are not translated."""
    with whole_file(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        try:
            yield text
        finally:
            text.detach()  # flushes; whole_file closes the file


def write_csv(path: str | os.PathLike[str], header: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Write a table with a header row. A list becomes one cell, joined by semicolons."""
    with whole_text_file(path) as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([_cell(value) for value in row] for row in rows)


def _cell(value: object) -> object:
    return "; ".join(map(str, value)) if isinstance(value, list) else value


@contextmanager
def whole_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder to write into, which takes its name when it is complete; there must not be one yet.

    What a killed process left is removed by the next one.
    """
    target = Path(path)
    if target.exists():
        raise ValueError(f"{target} exists already: choose another folder, or delete it")
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.absolute().parent} to write {target.name} to: create it")
    part = target.parent / f".{target.name}.part"
    part.mkdir(exist_ok=True)
    with folder_lock(part):
        if target.exists():
            raise ValueError(f"{target} was just written by another process: choose another folder, or delete it")
        try:
            _empty(part)
            yield part
            # Every file is on the disk when it takes its name; here the folder takes its own.
            os.rename(part, target)
        finally:
            if part.exists():
                _empty(part)
                part.rmdir()


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
