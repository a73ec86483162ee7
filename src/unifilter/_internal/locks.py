"""One process at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Refuse to go on while another process works in a folder.

    The lock is on the folder itself and ends with the process: a crash leaves nothing behind.
    """
    try:
        import fcntl
    except ImportError:
        raise ValueError("folders cannot be locked on this system: use Linux or macOS") from None
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"another process is writing to {folder}: wait until it is done, or choose another folder"
            ) from None
        yield
    finally:
        os.close(handle)
