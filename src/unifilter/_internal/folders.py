"""Folders of this package on the user's machine."""

from __future__ import annotations

import os
from pathlib import Path


def user_folder(given: str | Path | None, variable: str, name: str = "") -> Path:
    """Path of a folder, which need not exist yet.

    Args:
        given: Explicit path; takes precedence.
        variable: Environment variable that names a folder otherwise.
        name: Subfolder of the folder named by the variable, or of the user's cache folder if it is not set.
    """
    if given is not None and given != "":
        return Path(given).expanduser()
    if os.environ.get(variable):
        return Path(os.environ[variable]).expanduser() / name
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("unifilter")) / name
