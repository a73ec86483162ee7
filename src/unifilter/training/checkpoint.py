"""Checkpoints: files with everything needed to resume a training run.

A file starts with a line that identifies the format and a line with the SHA-256 of that line and of the rest,
followed by the state as written by ``torch.save``. Files are written atomically.
"""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
from typing import Any

import torch

from unifilter._internal.files import whole_file

_KIND = b"unifilter checkpoint, form 2\n"
_DIGEST_LENGTH = 2 * hashlib.sha256().digest_size


class Checkpoint:
    """A file with the state of a training run. A file that was changed is rejected.

    Args:
        path: Path of the file.
        fingerprint: Identifies the run (settings, data, split). A file of another run is rejected.
    """

    def __init__(self, path: str | os.PathLike[str], fingerprint: str) -> None:
        self.path, self.fingerprint = Path(path), fingerprint

    def save(self, state: dict[str, Any]) -> None:
        """Write the state atomically: readers see either the previous file or the new one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()
        torch.save({"fingerprint": self.fingerprint, **state}, content)
        with whole_file(self.path) as file:
            file.write(_KIND + _digest(content.getbuffer()) + b"\n")
            file.write(content.getbuffer())

    def load(self) -> dict[str, Any] | None:
        """The state, or ``None`` if the file does not exist."""
        if not self.path.exists():
            return None
        try:
            state = dict(torch.load(io.BytesIO(self._checked_content()), weights_only=True))
        except Exception as error:
            raise ValueError(f"{self.path} is not a readable checkpoint ({error}): delete it to start again") from error
        if state.pop("fingerprint", None) != self.fingerprint:
            raise ValueError(
                f"{self.path} belongs to a run with other settings or other data: "
                "resume with the original settings, or delete it to start again"
            )
        return state

    def delete(self) -> None:
        self.path.unlink(missing_ok=True)

    def _checked_content(self) -> bytes:
        """The state as bytes, verified before it is unpickled."""
        kind, digest, content = _parts(self.path.read_bytes())
        if kind != _KIND:
            raise ValueError("it is not a checkpoint, or was written by another version of unifilter")
        if digest != _digest(content) + b"\n":
            raise ValueError("it has changed since it was saved: its digest is wrong")
        return content


def _digest(content: bytes | memoryview) -> bytes:
    digest = hashlib.sha256(_KIND)
    digest.update(content)
    return digest.hexdigest().encode()


def _parts(whole: bytes) -> tuple[bytes, bytes, bytes]:
    start = len(_KIND) + _DIGEST_LENGTH + 1
    return whole[: len(_KIND)], whole[len(_KIND) : start], whole[start:]
