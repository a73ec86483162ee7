"""Reads uploads with the readers for files, without unpacking anything too large."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from unifilter._internal.extras import MissingExtraError
from unifilter.data import NodeDataset
from unifilter.datasets import load_dataset
from unifilter.explore.uploads import TABLES, TooLargeError, megabytes

# How many times larger than an upload its arrays may be. Bags of words compress by a factor of hundreds, so this is
# roughly the memory that the upload limit allows.
_UNPACKED = 10
_BYTES_OF_A_NUMBER = 8


def read_upload(path: Path, limit: int) -> NodeDataset:
    """Read a file or folder. Any error becomes a ``ValueError`` with the file names that the user knows."""
    largest = _UNPACKED * limit
    try:
        _check_unpacked([path] if path.is_file() else sorted(path.iterdir()), largest)
        if path.suffix == ".zip":
            tables = _unpack_tables(path)
            _check_unpacked(sorted(tables.iterdir()), largest)
            return load_dataset(tables)
        return load_dataset(path)
    except TooLargeError:
        raise
    except (ValueError, FileNotFoundError, MissingExtraError) as error:
        raise ValueError(str(error).replace(f"{path.parent}{os.sep}", "")) from error
    except MemoryError as error:
        raise ValueError(f"{path.name} needs more memory than is available: upload a smaller file") from error
    except Exception as error:
        # A damaged file can raise any error of a zip file, an array or a number.
        raise ValueError(f"{path.name} cannot be read ({type(error).__name__}: {error}): write it again") from error


def _check_unpacked(paths: Sequence[Path], limit: int) -> None:
    for path in paths:
        size = _unpacked_size(path)
        if size > limit:
            raise TooLargeError(
                f"{path.name} unpacks to {megabytes(size)}, more than the limit of {megabytes(limit)}: start the "
                "server with a larger limit, or with the path of the file"
            )


def _unpacked_size(path: Path) -> int:
    """Unpacked size as stated in the file; 0 if it is not packed or is damaged, which the reader reports."""
    if path.suffix == ".parquet":
        return _parquet_size(path)
    if not zipfile.is_zipfile(path):
        return 0
    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())


def _parquet_size(path: Path) -> int:
    if find_spec("pyarrow") is None:
        return 0
    from pyarrow import ArrowException
    from pyarrow.parquet import read_metadata

    try:
        metadata = read_metadata(path)
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        columns = [group.column(number) for group in groups for number in range(group.num_columns)]
    except (ArrowException, OSError):
        return 0
    # A column of one repeated value takes a few bytes in the file, but a number per row in memory.
    return sum(max(_BYTES_OF_A_NUMBER * one.num_values, one.total_uncompressed_size) for one in columns)


def _unpack_tables(path: Path) -> Path:
    """Unpack the tables of a ``.zip`` into a folder beside it.

    Only files with the names of tables are written, so paths in the archive have no effect.
    """
    folder = path.with_suffix("")
    folder.mkdir()
    try:
        with zipfile.ZipFile(path) as archive:
            for member in _table_members(archive, path):
                with archive.open(member) as packed, (folder / PurePosixPath(member.filename).name).open("xb") as file:
                    shutil.copyfileobj(packed, file)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path.name} is not a complete .zip file ({error}): write it again") from error
    return folder


def _table_members(archive: zipfile.ZipFile, path: Path) -> list[zipfile.ZipInfo]:
    """The tables, possibly in a folder of the archive. Copies added by macOS are ignored."""
    found: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        inside = PurePosixPath(member.filename)
        if inside.name not in TABLES or inside.parts[0] == "__MACOSX":
            continue
        if inside.name in found:
            raise ValueError(f"{path.name} has {inside.name} more than once: keep only one of them")
        if member.flag_bits & 1:
            raise ValueError(f"{inside.name} in {path.name} is encrypted: write the .zip without a password")
        found[inside.name] = member
    return list(found.values())
