"""Receives uploaded files of known types and limited size."""

from __future__ import annotations

import re
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

TABLES = ("nodes.csv", "nodes.parquet", "edges.csv", "edges.parquet")

_KINDS = (".npz", ".pt", ".pth", ".graphml", ".zip")
_WHAT = (
    "an .npz, .pt, .pth or .graphml file, or the tables nodes and edges (.csv or .parquet), both at once or in a .zip"
)
# The limit of common file systems.
_NAME_BYTES = 255


class TooLargeError(ValueError):
    """An upload or request exceeds its size limit."""


def megabytes(size: int) -> str:
    """Format a size in MB."""
    return f"{size / 1e6:,.1f} MB"


async def limited(stream: AsyncIterator[bytes], limit: int, name: str) -> AsyncIterator[bytes]:
    """Pass on the parts of a stream, and raise an error if they exceed a limit."""
    received = 0
    async for part in stream:
        received += len(part)
        if received > limit:
            raise TooLargeError(too_large(name, None, limit))
        yield part


def too_large(name: str, size: int | None, limit: int) -> str:
    """The message for an upload that is too large; ``size`` in bytes, or ``None`` if unknown."""
    measured = "is" if size is None else f"has {megabytes(size)},"
    return (
        f"{name} {measured} more than the limit of {megabytes(limit)}: start the server with a larger "
        "limit, or with the path of the file"
    )


async def receive(
    stream: AsyncIterator[bytes], names: Sequence[str], sizes: Sequence[str], limit: int, folder: Path
) -> Path:
    """Write an upload to a folder: one file, or the two tables of a data set.

    Args:
        stream: The concatenated files.
        names: File names.
        sizes: Sizes in bytes, in decimal digits.
        limit: Maximum total size in bytes.
        folder: Target folder. File names are reduced to safe characters.

    Returns:
        The path to read: the file, or the folder of the tables.
    """
    plain = [_plain(name) for name in names]
    lengths = [int(size) for size in sizes if re.fullmatch(r"[0-9]{1,15}", size)]
    if not names or len(lengths) != len(names):
        raise ValueError("an upload must give the name and the size of each file: use the page")
    _check_kinds(plain, names)
    what = " and ".join(plain)
    if sum(lengths) > limit:
        raise TooLargeError(too_large(what, sum(lengths), limit))
    target = folder / plain[0]
    try:
        if plain[0] in TABLES:
            target = folder / "tables"
            target.mkdir()
        paths = [target / name for name in plain] if target.is_dir() else [target]
        await _write(limited(stream, sum(lengths), what), paths, lengths)
    except TooLargeError:
        raise ValueError(f"{what} has more bytes than announced: send it again") from None
    except OSError as error:
        raise ValueError(f"{what} cannot be stored on this machine: {error.strerror}") from error
    return target


async def _write(stream: AsyncIterator[bytes], paths: Sequence[Path], lengths: Sequence[int]) -> None:
    rest = b""
    for path, length in zip(paths, lengths, strict=True):
        with path.open("xb") as file:
            missing = length
            while missing:
                rest = rest or await anext(stream, b"")
                if not rest:
                    raise ValueError(f"{path.name} is {missing:,} bytes shorter than announced: send it again")
                part, rest = rest[:missing], rest[missing:]
                missing -= file.write(part)
    async for _ in stream:
        pass  # nothing is left, or the limit of the stream raises an error


def new_folder() -> tempfile.TemporaryDirectory[str]:
    """A temporary folder for one upload."""
    return tempfile.TemporaryDirectory(prefix="unifilter-upload-")


def _plain(name: str) -> str:
    """The file name without folders, special characters and leading dots."""
    last = re.sub(r"[^\w.\- ]", "_", name.replace("\\", "/").rpartition("/")[2]).lstrip(". ")
    if len(last.encode()) > _NAME_BYTES:
        raise ValueError(f"the name {last[:20]}... is longer than {_NAME_BYTES} bytes: rename the file")
    stem, dot, kind = last.rpartition(".")
    return f"{stem}{dot}{kind.lower()}"


def _check_kinds(plain: Sequence[str], names: Sequence[str]) -> None:
    """Check that there is one file of a known type, or one table of nodes and one of edges."""
    if len(plain) == 1 and plain[0] not in TABLES:
        stem, dot, kind = plain[0].rpartition(".")
        if not stem or dot + kind not in _KINDS:
            raise ValueError(f"{names[0]!r} cannot be read: upload {_WHAT}")
        return
    if sorted(name.partition(".")[0] for name in plain) != ["edges", "nodes"] or not set(plain) <= set(TABLES):
        raise ValueError(f"{_listed(names)} cannot be read as one data set: upload {_WHAT}")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
