"""Reader for arrays of a Matlab ``.mat`` file, the format of the LINKX collection (Lim et al. 2021)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import scipy.io


def load_mat(path: Path, keys: tuple[str, ...]) -> tuple[Any, ...]:
    """Load the named arrays. Any error scipy raises for a damaged file becomes a ValueError."""
    try:
        arrays = scipy.io.loadmat(path, variable_names=keys)
    except Exception as error:  # scipy raises whatever its parser runs into, from TypeError to struct.error
        raise ValueError(
            f"{path} is not a complete .mat file ({type(error).__name__}: {error}): download it again"
        ) from error
    for key in keys:
        if key not in arrays:
            raise ValueError(f"{path} has no array {key!r}: it is not the expected file, download it again")
    return tuple(arrays[key] for key in keys)
