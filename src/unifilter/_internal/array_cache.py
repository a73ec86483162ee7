"""Arrays that take long to compute, kept in files of the user's cache folder."""

from __future__ import annotations

import hashlib
import logging
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from unifilter._internal.files import whole_file
from unifilter._internal.folders import user_folder

ENVIRONMENT_VARIABLE = "UNIFILTER_CACHE"

_log = logging.getLogger("unifilter")


def cached_arrays(
    what: str, folder: str, key: str, make: Callable[[], Mapping[str, np.ndarray]], cache_dir: str | Path | None = None
) -> dict[str, np.ndarray]:
    """The arrays from the cache where they are there, else computed and put there.

    Args:
        what: What they are, such as ``"eigenpairs"``, for messages.
        folder: Where they are kept, below the folder that the environment variable ``UNIFILTER_CACHE`` names, else
            below the user's cache folder.
        key: Names all that the arrays depend on; it is the name of the file.
        make: Computes them.
        cache_dir: A folder that is used instead.
    """
    path = _writable(what, user_folder(cache_dir, ENVIRONMENT_VARIABLE, folder)) / f"{key}.npz"
    if path.exists():
        _log.info("%s: read from %s", what, path)
        return _load(path)
    started = time.monotonic()
    arrays = dict(make())
    with whole_file(path) as file:
        np.savez(file, digest=np.array(_digest(path.name, arrays)), **arrays)  # type: ignore[arg-type]
    _log.info(
        "%s: computed in %.1f s, kept in %s (%.0f MB)",
        what,
        time.monotonic() - started,
        path,
        path.stat().st_size / 1e6,
    )
    return arrays


def _writable(what: str, folder: Path) -> Path:
    """The folder, which exists and can be written to: better to know before an hour of work than after."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ValueError(
            f"{what} cannot be kept in {folder} ({error.strerror}): set {ENVIRONMENT_VARIABLE} to a folder that "
            "can be written to"
        ) from error
    return folder


def _digest(name: str, arrays: Mapping[str, np.ndarray]) -> str:
    """Of every number, and of the name of the file, which says what they depend on."""
    digest = hashlib.sha256(f"{name}\n".encode())
    for label, array in sorted(arrays.items()):
        digest.update(f"{label} {array.dtype} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _load(path: Path) -> dict[str, np.ndarray]:
    try:
        # Opened here, since numpy leaves a file open that it cannot read.
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files if name != "digest"}
            whole = str(file["digest"]) == _digest(path.name, arrays)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        raise ValueError(f"{path} is not a whole cache file ({error}): delete it to compute it again") from error
    if not whole:
        raise ValueError(f"{path} does not hold what was written to it: delete it to compute it again")
    return arrays
