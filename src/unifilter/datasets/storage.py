"""The data directory: its location, verification of its files, and adding new ones."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from unifilter._internal.files import whole_file
from unifilter._internal.folders import user_folder
from unifilter.datasets.catalog import DataFile, Form

ENVIRONMENT_VARIABLE = "UNIFILTER_DATA"


def data_directory(data_dir: str | Path | None = None) -> Path:
    """The folder where named data sets are stored. It need not exist yet.

    Args:
        data_dir: The folder. Default: the environment variable ``UNIFILTER_DATA``, or the user's cache folder.
    """
    return user_folder(data_dir, ENVIRONMENT_VARIABLE)


def missing_files(form: Form, folder: Path) -> list[DataFile]:
    """The required files of a form that do not exist."""
    return [file for file in form.files if not file.optional and not (folder / file.path).is_file()]


def check_file(path: Path, file: DataFile) -> str:
    """Return the SHA-256 checksum of a file, after comparing it with the published one, if known."""
    digest = sha256_of(path)
    if file.sha256 is not None and digest != file.sha256:
        raise ValueError(
            f"{path} has the sha256 {digest}, but the published file has {file.sha256}: it is damaged or another "
            "version; delete it and load the data set again"
        )
    return digest


def sha256_of(path: Path) -> str:
    """SHA-256 checksum of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def place(source: Path, target: Path) -> None:
    """Copy a file atomically: ``target`` is always absent, unchanged or complete.

    The copy is written under another name in the same folder and renamed once it is on disk, so that neither a crash
    nor a concurrent process can leave a partial file.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as original, whole_file(target) as copy:
        shutil.copyfileobj(original, copy)
