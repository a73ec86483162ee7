"""Rows of results as CSV files, plain or gzipped."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from unifilter.experiments.engine.cells import IDENTITY, key_of
from unifilter.experiments.engine.files import write_whole

Row = dict[str, Any]

# Shown beside the paper's results; a run does not reuse them. Gzipped to keep the package small.
PACKAGED_ROWS = Path(__file__).parent.parent / "results"

# Columns with plain text. All others contain JSON, so that numbers and lists are preserved.
_TEXT = ("experiment", "dataset", "measure", "method", "checksum", "split")
_COLUMNS = ("experiment", "at", "dataset", "measure", "method", "version", "split", "index", "checksum", "settings")


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write one line per row: its identity, then its outcome, with a column for each name that occurs.

    If the name ends in ``.gz``, the file is gzipped without a time stamp, so that the same rows give the same bytes.
    """
    names = list(dict.fromkeys(name for row in rows for name in row["outcome"]))
    lines = [
        [_text(name, row.get(name, "")) for name in _COLUMNS]
        + [_text(name, row["outcome"][name]) if name in row["outcome"] else "" for name in names]
        for row in rows
    ]
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([*_COLUMNS, *names])
    writer.writerows(lines)
    content = text.getvalue().encode("utf-8")
    write_whole(path, gzip.compress(content, 9, mtime=0) if path.suffix == ".gz" else content)


def read_rows(path: Path) -> list[Row]:
    """Read the rows of a ``.csv`` or ``.csv.gz`` file."""
    lines = list(csv.reader(io.StringIO(_text_of(path), newline="")))
    if not lines or lines[0][: len(_COLUMNS)] != list(_COLUMNS):
        raise ValueError(f"{path} is not a file of rows: it must start with the columns {', '.join(_COLUMNS)}")
    header = lines[0]
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(header):
            raise ValueError(f"line {number} of {path} has {len(line)} columns, not {len(header)}: write it again")
        try:
            values = {name: _value(name, text) for name, text in zip(header, line, strict=True)}
        except json.JSONDecodeError as error:
            raise ValueError(f"line {number} of {path} cannot be read ({error}): write the file again") from None
        outcome = {name: values.pop(name) for name in header[len(_COLUMNS) :]}
        rows.append({**values, "outcome": {name: value for name, value in outcome.items() if value is not None}})
    return rows


def find_rows(places: Iterable[Path]) -> list[Row]:
    """The rows of files, and of all CSV files (``.csv``, ``.csv.gz``) below folders."""
    rows = []
    for place in places:
        if place.is_dir():
            for path in sorted([*place.rglob("*.csv"), *place.rglob("*.csv.gz")]):
                rows += read_rows(path)
        elif place.is_file():
            rows += read_rows(place)
        else:
            raise FileNotFoundError(f"there is no file or folder {place}: pass CSV files of rows, or a folder of them")
    return rows


def by_key(rows: Iterable[Row]) -> dict[str, Row]:
    """Rows by the key of their cell."""
    return {key_of(row): {name: row[name] for name in (*IDENTITY, "dataset", "outcome")} for row in rows}


def packaged_rows() -> list[Row]:
    """The rows that ship with the package."""
    return find_rows([PACKAGED_ROWS])


def _text_of(path: Path) -> str:
    content = path.read_bytes()
    if path.suffix != ".gz":
        return content.decode("utf-8")
    try:
        return gzip.decompress(content).decode("utf-8")
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be read as gzip ({error}): write the file again") from None


def _text(name: str, value: Any) -> str:
    return str(value) if name in _TEXT else json.dumps(value)


def _value(name: str, text: str) -> Any:
    if name in _TEXT:
        return text
    return json.loads(text) if text else None
