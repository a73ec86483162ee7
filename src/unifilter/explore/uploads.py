"""A file from the page: no larger than allowed, never unpickled, gone when it is read."""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

from unifilter.data import NodeDataset
from unifilter.datasets.formats import npz

# How many times larger than an upload its arrays may be: features of words compress by a factor of hundreds, so this is
# about the memory that the limit stands for.
_UNPACKED = 10


class TooLargeError(ValueError):
    """More bytes than are allowed."""


def megabytes(size: int) -> str:
    """As people write a size."""
    return f"{size / 1e6:,.1f} MB"


async def limited(stream: AsyncIterator[bytes], limit: int, name: str) -> AsyncIterator[bytes]:
    """The same parts, until they are too many."""
    received = 0
    async for part in stream:
        received += len(part)
        if received > limit:
            raise TooLargeError(too_large(name, None, limit))
        yield part


def too_large(name: str, size: int | None, limit: int) -> str:
    """What to say of an upload of so many bytes, where that is known."""
    measured = "is" if size is None else f"has {megabytes(size)},"
    return (
        f"{name} {measured} more than the {megabytes(limit)} that are allowed: start the server with a larger "
        "limit, or with the path of the file"
    )


async def receive(stream: AsyncIterator[bytes], name: str, limit: int, folder: Path) -> Path:
    """Writes an upload to a folder, under its own name without anything that is not a plain part of a name."""
    plain = re.sub(r"[^\w.\- ]", "_", Path(name.replace("\\", "/")).name)[-100:]
    if not plain.endswith(".npz") or plain == ".npz":
        raise ValueError(f"{name!r} is not an .npz file: upload one, or start the server with the path of this file")
    path = folder / plain
    with path.open("xb") as file:
        async for part in limited(stream, limit, plain):
            file.write(part)
    return path


def read_upload(path: Path, limit: int) -> NodeDataset:
    """The data set in the file; whatever is wrong with it becomes a ``ValueError`` that names it as the user does."""
    try:
        _check_unpacked(path, _UNPACKED * limit)
        return npz.read(path)
    except ValueError as error:
        raise ValueError(str(error).replace(str(path), path.name)) from error
    except MemoryError as error:
        raise ValueError(f"{path.name} needs more memory than there is: upload a smaller file") from error
    except Exception as error:
        # A damaged file can fail in any way that a zip file, an array or a number can.
        raise ValueError(f"{path.name} cannot be read ({type(error).__name__}: {error}): write it again") from error


def new_folder() -> tempfile.TemporaryDirectory[str]:
    """For one upload."""
    return tempfile.TemporaryDirectory(prefix="unifilter-upload-")


def _check_unpacked(path: Path, limit: int) -> None:
    if not zipfile.is_zipfile(path):
        return  # the reader says so
    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > limit:
        raise TooLargeError(
            f"{path.name} unpacks to {megabytes(size)}, more than the {megabytes(limit)} that are allowed: start "
            "the server with a larger limit, or with the path of the file"
        )
