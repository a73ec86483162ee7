"""The data directory: where it is, whether a file in it is the published one, and how a new one gets there."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from unifilter._internal.files import whole_file
from unifilter._internal.folders import user_folder
from unifilter.datasets.catalog import DataFile, Form

ENVIRONMENT_VARIABLE = "UNIFILTER_DATA"


def data_directory(data_dir: str | Path | None = None) -> Path:
    """The folder that named data sets are read from and kept in; it need not exist yet.

    Args:
        data_dir: The folder; by default the one that the environment variable ``UNIFILTER_DATA`` names, else the
            user's cache folder.
    """
    return user_folder(data_dir, ENVIRONMENT_VARIABLE)


def missing_files(form: Form, folder: Path) -> list[DataFile]:
    """The files a form cannot be read without and that are not there."""
    return [file for file in form.files if not file.optional and not (folder / file.path).is_file()]


def check_file(path: Path, file: DataFile) -> str:
    """The SHA-256 of a file, which must be the published one where that is known."""
    digest = sha256_of(path)
    if file.sha256 is not None and digest != file.sha256:
        raise ValueError(
            f"{path} has the sha256 {digest}, but the published file has {file.sha256}: it is damaged or another "
            "version; delete it and load the data set again"
        )
    return digest


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def place(source: Path, target: Path) -> None:
    """Copies a file so that ``target`` is at every moment either absent, as it was, or whole.

    The copy is made under another name in the same folder, and takes its name only when it is on the disk: neither a
    crash nor a second process that does the same can leave half a file.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as original, whole_file(target) as copy:
        shutil.copyfileobj(original, copy)
