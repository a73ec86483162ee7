"""A disk cache for arrays that take long to compute."""

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
    """Load arrays from the cache, or compute and store them.

    Args:
        what: What the arrays are, such as ``"eigenpairs"``; used in messages.
        folder: Subfolder of the folder named by the environment variable ``UNIFILTER_CACHE``, or of the user's cache
            folder.
        key: File name. Must identify everything the arrays depend on.
        make: Computes the arrays.
        cache_dir: A folder to use instead.
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
    """Create the folder and check that it is writable, before hours of work rather than after."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ValueError(
            f"{what} cannot be stored in {folder} ({error.strerror}): set {ENVIRONMENT_VARIABLE} to a writable folder"
        ) from error
    return folder


def _digest(name: str, arrays: Mapping[str, np.ndarray]) -> str:
    """A digest of every number and of the file name, which says what the arrays depend on."""
    digest = hashlib.sha256(f"{name}\n".encode())
    for label, array in sorted(arrays.items()):
        digest.update(f"{label} {array.dtype} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _load(path: Path) -> dict[str, np.ndarray]:
    try:
        # Opened here because numpy leaves a file open that it cannot read.
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files if name != "digest"}
            whole = str(file["digest"]) == _digest(path.name, arrays)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zipfile.LargeZipFile) as error:
        raise ValueError(f"{path} is not a complete cache file ({error}): delete it to compute it again") from error
    if not whole:
        raise ValueError(f"{path} has changed since it was written: delete it to compute it again")
    return arrays
