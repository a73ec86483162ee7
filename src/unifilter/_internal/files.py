"""Files that are whole or not there."""

from __future__ import annotations

import csv
import io
import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which takes its name when all of it is on the disk; a failure leaves what was there."""
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
    """The same for text, UTF-8; lines end as they are written."""
    with whole_file(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        try:
            yield text
        finally:
            text.detach()  # flushes, and leaves the closing to the file


def write_csv(path: str | os.PathLike[str], header: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """A table with a line of names; a list is one cell, with semicolons."""
    with whole_text_file(path) as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([_cell(value) for value in row] for row in rows)


def _cell(value: object) -> object:
    return "; ".join(map(str, value)) if isinstance(value, list) else value
