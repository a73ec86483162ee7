"""Safe reading of archives from untrusted sources: what an archive claims to contain is checked before unpacking."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Bags of words expand up to 250 times when unpacked, zeros 1,030 times.
_MOST_TIMES = 400
# This many bytes are always allowed, however small the file is.
_ALWAYS_FINE = 2**29

# Flags of a member: encrypted (old or strong encryption), or a patch of another file.
_ENCRYPTED, _PATCHED = 0x41, 0x20


def check_claim(path: Path, claimed: int, what: str) -> None:
    """Reject a file that claims to contain far more than its size allows, before memory is allocated.

    Args:
        path: The file.
        claimed: Size of its content in bytes.
        what: The content, for the message.
    """
    size = path.stat().st_size
    if claimed > max(_ALWAYS_FINE, _MOST_TIMES * size):
        raise ValueError(
            f"{path} has {size:,} bytes, but {what} would take {claimed:,}: it is damaged or malicious; get it from a "
            "trusted source, or write it again"
        )


@contextmanager
def open_archive(path: Path, *, compressed: bool) -> Iterator[zipfile.ZipFile]:
    """Open a zip file whose members are unique, not encrypted, and together no larger than its size allows.

    Args:
        path: The file.
        compressed: Whether members may be compressed. If not, their size is their size in the file.

    Raises:
        zipfile.BadZipFile: If the file is not a zip file, or its list of members contradicts the file.
        ValueError: If it is a zip file that is not safe to unpack.
    """
    if not zipfile.is_zipfile(path):
        raise zipfile.BadZipFile("not a zip file")
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile):
        raise
    except Exception as error:  # an invalid list of members
        raise zipfile.BadZipFile(f"{type(error).__name__}: {error}") from error
    with archive:
        members = archive.infolist()
        _check_members(path, members, compressed)
        check_claim(path, sum(member.file_size for member in members), "its content")
        yield archive


def _check_members(path: Path, members: list[zipfile.ZipInfo], compressed: bool) -> None:
    methods = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED} if compressed else {zipfile.ZIP_STORED}
    seen = set()
    for member in members:
        if member.flag_bits & _ENCRYPTED:
            raise ValueError(f"{path}: its member {member.filename!r} is encrypted: write it without a password")
        if member.filename in seen:
            raise ValueError(f"{path} contains {member.filename!r} more than once: write it again, with each name once")
        seen.add(member.filename)
        if member.compress_type not in methods or member.flag_bits & _PATCHED:
            raise ValueError(
                f"{path}: its member {member.filename!r} has an unsupported compression (method "
                f"{member.compress_type}): write it again with deflate"
            )
        if member.header_offset < 0:
            raise zipfile.BadZipFile(f"the member {member.filename!r} starts before the file")
        if member.compress_type == zipfile.ZIP_STORED and member.file_size != member.compress_size:
            raise zipfile.BadZipFile(f"the member {member.filename!r} has two sizes")
    if sum(member.compress_size for member in members) > path.stat().st_size:
        raise zipfile.BadZipFile("its members are larger than the file")
