"""A run that can be taken up again: everything the next epoch depends on, in one file that is whole or not there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

from unifilter._internal.files import whole_file


class Checkpoint:
    """One file that holds the state of a training run.

    Args:
        path: Where it is.
        fingerprint: What the run is of (settings, data, split); a file of another run is refused.
    """

    def __init__(self, path: str | os.PathLike[str], fingerprint: str) -> None:
        self.path, self.fingerprint = Path(path), fingerprint

    def save(self, state: dict[str, Any]) -> None:
        """Write the file anew; a reader sees the old one or the new one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(self.path) as file:
            torch.save({"fingerprint": self.fingerprint, **state}, file)

    def load(self) -> dict[str, Any] | None:
        """The state, or ``None`` where there is none yet."""
        if not self.path.exists():
            return None
        try:
            state = dict(torch.load(self.path, weights_only=True))
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
