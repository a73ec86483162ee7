"""Edge lists in files, some lines at a time: .csv, .parquet, .npy, or text."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from unifilter._internal.extras import require
from unifilter.graph import EdgeBlock

# Some tens of megabytes of text.
_LINES = 1 << 20
# What lines that are no edges begin with in the collections that people download.
_COMMENTS = ("#", "%")


def read_edge_blocks(path: str | Path, lines: int = _LINES) -> Iterator[EdgeBlock]:
    """The edges of a file as :func:`unifilter.graph.convert_edges` takes them, never all of them in memory.

    Args:
        path: ``.csv`` or ``.parquet`` with the columns ``source``, ``target`` and, optionally, ``weight``; ``.npy``
            with an array ``[2, edges]`` or ``[edges, 2]``; or text with two ids and, optionally, a weight in each line,
            which may be compressed (``.gz``). Node ids are whole numbers from 0.
        lines: How many edges a block has.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {file}: pass an edge list, .csv, .parquet, .npy or text")
    if file.suffix == ".npy":
        return _from_npy(file, lines)
    if file.suffix == ".csv":
        require("tables", what="reading .csv", packages=["pandas"])
        return _from_csv(file, lines)
    if file.suffix == ".parquet":
        require("tables", what="reading .parquet")
        return _from_parquet(file, lines)
    return _from_text(file, lines)


def _from_npy(path: Path, lines: int) -> Iterator[EdgeBlock]:
    try:
        edges = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{path} cannot be read as an array: {error}") from error
    if edges.ndim != 2 or 2 not in edges.shape:
        raise ValueError(f"{path} holds an array {list(edges.shape)}: an edge list is [2, edges] or [edges, 2]")
    edges = edges if edges.shape[0] == 2 else edges.T
    for start in range(0, max(edges.shape[1], 1), lines):
        # Copies: a mapped file that is read counts as memory of the process.
        source, target = np.array(edges[:, start : start + lines])
        yield EdgeBlock(source, target)


def _from_csv(path: Path, lines: int) -> Iterator[EdgeBlock]:
    import pandas

    try:
        header = list(pandas.read_csv(path, nrows=0).columns)
        used = _columns(path, header)
        with pandas.read_csv(path, usecols=used, chunksize=lines) as parts:
            for part in parts:
                yield _block(path, {name: part[name].to_numpy() for name in used})
    except (pandas.errors.ParserError, pandas.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read as a table: {error}") from error


def _from_parquet(path: Path, lines: int) -> Iterator[EdgeBlock]:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            used = _columns(path, file.schema_arrow.names)
            for part in file.iter_batches(batch_size=lines, columns=used):
                yield _block(path, {name: part.column(name).to_numpy(zero_copy_only=False) for name in used})
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path} cannot be read as a table: {error}") from error


def _columns(path: Path, names: list[str]) -> list[str]:
    missing = [name for name in ("source", "target") if name not in names]
    if missing:
        raise ValueError(
            f"{path} has no column {missing[0]!r}: an edge list has source, target and, optionally, weight"
        )
    return [name for name in ("source", "target", "weight") if name in names]


def _block(path: Path, columns: dict[str, np.ndarray]) -> EdgeBlock:
    for name, values in columns.items():
        kinds = "iu" if name != "weight" else "iuf"
        if values.dtype.kind not in kinds:
            what = "numbers" if name == "weight" else "whole numbers"
            raise ValueError(
                f"the column {name!r} of {path} has to hold {what} without gaps, not {values.dtype}: number the nodes "
                "0, 1, 2, ..."
            )
    return EdgeBlock(columns["source"], columns["target"], columns.get("weight"))


def _from_text(path: Path, lines: int) -> Iterator[EdgeBlock]:
    with _opened(path) as file:
        width = _fields(path, file)
    fields: list[Any] = [("source", np.int64), ("target", np.int64), ("weight", np.float64)]
    with _opened(path) as file, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*contained no data", category=UserWarning)
        while True:
            try:
                part = np.loadtxt(file, dtype=fields[:width], comments=_COMMENTS, max_rows=lines, ndmin=1)
            except (ValueError, UnicodeDecodeError) as error:
                reason = f"{error}; each line has two ids and perhaps a weight"
                raise ValueError(f"{path} is no edge list: {reason}") from None
            if len(part) == 0:
                return
            yield EdgeBlock(part["source"].copy(), part["target"].copy(), part["weight"].copy() if width == 3 else None)


def _opened(path: Path) -> IO[str]:
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")


def _fields(path: Path, file: IO[str]) -> int:
    """How many fields a line has: those of the first edge."""
    for line in file:
        words = line.split("#")[0].split("%")[0].split()
        if words:
            if len(words) not in (2, 3):
                raise ValueError(f"{path} is no edge list: its first line has {len(words)} fields, not 2 or 3")
            return len(words)
    return 2
