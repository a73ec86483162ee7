"""The files of a run folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from unifilter._internal.files import whole_text_file
from unifilter.estimators import TrainedModel

_CONFIG, _RECORDS, _MODEL = "config.json", "splits.json", "model.unifilter"


class RunFolder:
    """Reads and writes the files of a run. No other code knows their names.

    Attributes:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def is_run(cls, path: Path) -> bool:
        """Whether a folder contains a run."""
        return (path / _CONFIG).is_file()

    @property
    def config(self) -> dict[str, Any]:
        """The configuration: data set, checksum, split, method and settings."""
        if not (self.path / _CONFIG).exists():
            raise FileNotFoundError(f"{self.path} contains no run (it has no {_CONFIG}): pass a run folder")
        config: dict[str, Any] = self._read(_CONFIG)
        return config

    @property
    def records(self) -> list[dict[str, Any]]:
        """Record of every finished split; see :func:`unifilter.runs.record_of`."""
        found: list[dict[str, Any]] = self._read(_RECORDS) if (self.path / _RECORDS).exists() else []
        return found

    @property
    def model_path(self) -> Path:
        """Path of the model of the split with the best validation score."""
        return self.path / _MODEL

    def model(self) -> TrainedModel:
        """The model of the split with the best validation score."""
        if not self.model_path.exists():
            raise FileNotFoundError(
                f"the run in {self.path} has no finished split yet, there is no {_MODEL}: wait until one has finished"
            )
        return TrainedModel.load(self.model_path)

    def write_config(self, config: dict[str, Any]) -> None:
        self._write(_CONFIG, config)

    def write_records(self, records: list[dict[str, Any]]) -> None:
        self._write(_RECORDS, records)

    def holds_only_config(self) -> bool:
        """Whether nothing has been trained yet."""
        return [path.name for path in self.path.iterdir()] == [_CONFIG]

    def _read(self, name: str) -> Any:
        path = self.path / name
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path} is damaged ({error}): restore it, or start again in another folder") from None

    def _write(self, name: str, value: Any) -> None:
        with whole_text_file(self.path / name) as file:
            json.dump(value, file, indent=1)
