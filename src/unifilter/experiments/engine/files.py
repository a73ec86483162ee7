"""Files that are whole whenever they are there."""

from __future__ import annotations

from pathlib import Path

from unifilter._internal.files import whole_file


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes a file, and the folders it is in; whoever reads it finds all of it or the one before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)
