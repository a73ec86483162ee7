"""Plain ``.npy`` files with a checksum: written sequentially, and opened as memory maps.

Arrays can be larger than memory. A file gets its final name when it is complete on disk, and the manifest that lists it
is written last, so every file in a manifest is complete.
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from unifilter._internal.files import whole_file

# A header of this length holds any shape. The fixed length allows rewriting the header at the end.
_HEADER = 128
# Bytes per read or write: enough for the disk, and small compared with a matrix.
CHUNK_BYTES = 1 << 24
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class ArrayWriter:
    """Writes an array in parts, in C order. The length of the first axis may be unknown until the end."""

    def __init__(self, file: BinaryIO, dtype: Any, shape: tuple[int, ...]) -> None:
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self._file, self._shape, self._crc, self._bytes = file, shape, 0, 0
        file.write(_header(self.dtype, (0, *shape)))

    def write(self, part: np.ndarray) -> None:
        part = np.ascontiguousarray(part, self.dtype)
        view = part.reshape(-1).view(np.uint8).data
        for start in range(0, len(view), CHUNK_BYTES):
            piece = view[start : start + CHUNK_BYTES]
            self._crc = zlib.crc32(piece, self._crc)
            self._file.write(piece)
        self._bytes += len(view)

    def finish(self) -> dict[str, Any]:
        """Finish the file; returns its record for the manifest."""
        row = self.dtype.itemsize * int(np.prod(self._shape, dtype=np.int64))
        shape = (self._bytes // row, *self._shape)
        self._file.seek(0)
        self._file.write(_header(self.dtype, shape))
        return {"dtype": self.dtype.str, "shape": list(shape), "crc32": self._crc}


@contextmanager
def array_writer(path: Path, dtype: Any, shape: tuple[int, ...] = ()) -> Iterator[ArrayWriter]:
    """Open a file to write an array.

    Args:
        path: Path of the file, which appears at the end.
        dtype: Data type of the array.
        shape: Shape of the array, without the first axis.
    """
    with told_of_full_disks(path.parent), whole_file(path) as file:
        yield ArrayWriter(file, dtype, shape)


def write_array(path: Path, array: np.ndarray) -> dict[str, Any]:
    """Write a whole array; returns its record for the manifest."""
    with array_writer(path, array.dtype, array.shape[1:]) as writer:
        writer.write(array)
        return writer.finish()


def open_array(path: Path, record: Mapping[str, Any], *, verify: bool) -> np.ndarray:
    """The array in a file, memory-mapped and read-only.

    Args:
        path: The file.
        record: Record of the file in the manifest.
        verify: Whether to read the whole file and compare the checksum.
    """
    check_array(path, record, verify=verify)
    shape, dtype = tuple(record["shape"]), np.dtype(record["dtype"])
    if 0 in shape:
        return np.empty(shape, dtype)  # an empty array cannot be mapped
    mapped: np.ndarray = np.memmap(path, dtype, "r", offset=_HEADER, shape=shape)
    return mapped


def check_array(path: Path, record: Mapping[str, Any], *, verify: bool) -> None:
    """Raise an error if a file does not match its record in the manifest."""
    shape, dtype = tuple(record["shape"]), np.dtype(record["dtype"])
    header = _header(dtype, shape)
    expected = len(header) + dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno()).st_size
            if found != expected:
                raise ValueError(
                    f"{path} has {found:,} bytes and should have {expected:,}: it is damaged, write it again"
                )
            if file.read(_HEADER) != header or (verify and _crc32(file) != record["crc32"]):
                raise ValueError(f"{path} does not hold what was written to it: it is damaged, write it again")
    except FileNotFoundError:
        raise ValueError(f"{path} is missing, and the manifest beside it lists it: write it again") from None


def read_part(file: BinaryIO, record: Mapping[str, Any], index: int, start: int, out: np.ndarray) -> None:
    """Read rows from ``start`` on of one matrix of an array file ``[matrices, rows, ...]`` into ``out``.

    Uses plain reads, because mapped pages would count as memory of the process.
    """
    _, rows, *rest = record["shape"]
    size = np.dtype(record["dtype"]).itemsize * int(np.prod(rest, dtype=np.int64))
    file.seek(_HEADER + (index * rows + start) * size)
    view = out.reshape(-1).view(np.uint8).data
    done = 0
    while done < len(view):
        count = file.readinto(view[done:])  # type: ignore[attr-defined]
        if not count:
            raise ValueError(f"{file.name} ends before it should: it is damaged, write it again")
        done += count


def write_manifest(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file with its own checksum, atomically."""
    text = json.dumps(dict(content), sort_keys=True)
    document = {"content": content, "crc32": zlib.crc32(text.encode())}
    with told_of_full_disks(path.parent), whole_file(path) as file:
        file.write(json.dumps(document, sort_keys=True, indent=1).encode())


def read_manifest(path: Path) -> dict[str, Any]:
    """Read and check a file written by :func:`write_manifest`."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        content: dict[str, Any] = document["content"]
        whole = document["crc32"] == zlib.crc32(json.dumps(content, sort_keys=True).encode())
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a complete manifest ({error}): delete it, and write it again") from None
    if not whole:
        raise ValueError(f"{path} does not hold what was written to it: delete it, and write it again")
    return content


@contextmanager
def told_of_full_disks(folder: Path) -> Iterator[None]:
    """Turn the error of a full disk into a ValueError with a remedy. Finished files stay."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise ValueError(
            f"the disk of {folder} is full ({error.strerror}): make room and do the same again; what was finished is "
            "kept"
        ) from error


def _header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    text = repr({"descr": dtype.str, "fortran_order": False, "shape": tuple(int(size) for size in shape)})
    magic = b"\x93NUMPY\x01\x00" + (_HEADER - 10).to_bytes(2, "little")
    return magic + text.encode().ljust(_HEADER - 11) + b"\n"


def _crc32(file: BinaryIO) -> int:
    crc = 0
    while block := file.read(CHUNK_BYTES):
        crc = zlib.crc32(block, crc)
    return crc
