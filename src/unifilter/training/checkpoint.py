"""A run that can be taken up again: everything the next epoch depends on, in one file that is whole or not there.

The file is one line that says what it is, one line with the SHA-256 of that and of all that follows, and the state as
``torch.save`` writes it.
"""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
from typing import Any

import torch

from unifilter._internal.files import whole_file

_KIND = b"unifilter checkpoint, form 1\n"
_DIGEST_LENGTH = 2 * hashlib.sha256().digest_size


class Checkpoint:
    """One file that holds the state of a training run; it is refused where a single byte was changed.

    Args:
        path: Where it is.
        fingerprint: What the run is of (settings, data, split); a file of another run is refused.
    """

    def __init__(self, path: str | os.PathLike[str], fingerprint: str) -> None:
        self.path, self.fingerprint = Path(path), fingerprint

    def save(self, state: dict[str, Any]) -> None:
        """Write the file anew; a reader sees the old one or the new one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()
        torch.save({"fingerprint": self.fingerprint, **state}, content)
        with whole_file(self.path) as file:
            file.write(_KIND + _digest(content.getbuffer()) + b"\n")
            file.write(content.getbuffer())

    def load(self) -> dict[str, Any] | None:
        """The state, or ``None`` where there is none yet."""
        if not self.path.exists():
            return None
        try:
            state = dict(torch.load(io.BytesIO(self._checked_content()), weights_only=True))
        except Exception as error:
            raise ValueError(f"{self.path} is not a readable checkpoint ({error}): delete it to start again") from error
        if state.pop("fingerprint", None) != self.fingerprint:
            raise ValueError(
                f"{self.path} belongs to a run with other settings or other data: "
                "resume with the settings it was started with, or delete it to start again"
            )
        return state

    def delete(self) -> None:
        self.path.unlink(missing_ok=True)

    def _checked_content(self) -> bytes:
        """The state as bytes, which nothing looks into before they are known to be what was written."""
        kind, digest, content = _parts(self.path.read_bytes())
        if kind != _KIND:
            raise ValueError("it is none, or one of another version of unifilter")
        if digest != _digest(content) + b"\n":
            raise ValueError("it was changed after it was saved, its digest is wrong")
        return content


def _digest(content: bytes | memoryview) -> bytes:
    digest = hashlib.sha256(_KIND)
    digest.update(content)
    return digest.hexdigest().encode()


def _parts(whole: bytes) -> tuple[bytes, bytes, bytes]:
    start = len(_KIND) + _DIGEST_LENGTH + 1
    return whole[: len(_KIND)], whole[len(_KIND) : start], whole[start:]
