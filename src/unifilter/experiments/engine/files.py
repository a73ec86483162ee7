"""Atomic writing of files."""

from __future__ import annotations

from pathlib import Path

from unifilter._internal.files import whole_file


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file atomically, creating its folders. Readers see either the complete file or the previous one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)
