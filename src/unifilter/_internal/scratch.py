"""Temporary folders that do not outlive their process, even if it is killed."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from unifilter._internal.locks import folder_lock


@contextmanager
def scratch_folder(parent: Path, prefix: str = ".scratch-") -> Iterator[Path]:
    """A temporary folder, locked while it is used.

    Args:
        parent: Existing folder to create it in. Folders there that killed processes left behind are deleted.
        prefix: Start of the name.
    """
    remove_abandoned(parent, prefix)
    with ExitStack() as stack:
        folder = _locked(stack, parent, prefix)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(parent: Path, prefix: str = ".scratch-") -> None:
    """Delete the folders of processes that have ended, which hold no lock any more."""
    for folder in parent.glob(f"{prefix}*"):
        with ExitStack() as stack:
            try:
                stack.enter_context(folder_lock(folder))
            except (FileNotFoundError, ValueError):
                continue  # in use, or just deleted by its process
            shutil.rmtree(folder, ignore_errors=True)


def _locked(stack: ExitStack, parent: Path, prefix: str) -> Path:
    while True:
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=prefix))
        try:
            stack.enter_context(folder_lock(folder))
        except (FileNotFoundError, ValueError):
            continue  # another process took it for an abandoned one before it was locked
        if folder.exists():
            return folder
