"""Where files of this package are kept on the user's machine."""

from __future__ import annotations

import os
from pathlib import Path


def user_folder(given: str | Path | None, variable: str, name: str = "") -> Path:
    """A folder, which need not exist yet.

    Args:
        given: The folder that was asked for; it comes first.
        variable: The environment variable that names it otherwise.
        name: A folder below the one that the variable names, or below the user's cache folder where it names none.
    """
    if given is not None and given != "":
        return Path(given).expanduser()
    if os.environ.get(variable):
        return Path(os.environ[variable]).expanduser() / name
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("unifilter")) / name
