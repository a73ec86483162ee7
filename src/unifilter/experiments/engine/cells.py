"""A cell: one measurement that an experiment needs, and the key under which its result is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unifilter._internal.plain import plain
from unifilter.data import Metric
from unifilter.methods import find_method


@dataclass(frozen=True)
class Cell:
    """One measurement.

    Attributes:
        measure: What is measured: a name in :data:`unifilter.experiments.measures.MEASURES`.
        dataset: The data, by a name that :class:`unifilter.experiments.engine.sources.Sources` knows.
        at: Where in the table or figure the result belongs; no part of the key.
        split: The rule of the split; empty where none is needed.
        index: Which of its splits.
        method: The method that is trained; empty where none is.
        settings: Everything else that the result depends on; of a method, all its hyper-parameters.
    """

    measure: str
    dataset: str
    at: Mapping[str, Any]
    split: str = ""
    index: int = 0
    method: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        where = " ".join(f"{name}={value}" for name, value in self.at.items() if str(value) != self.dataset)
        split = f" split {self.index}" if self.split else ""
        return f"{self.dataset} {self.method or self.measure}{split}{f' ({where})' if where else ''}"


# Where the settings of a cell say what is tried for those that are left open.
CANDIDATES = "candidates"

# What a key is made of. The name of the data set is for people: its checksum counts.
IDENTITY = ("measure", "method", "version", "checksum", "split", "index", "settings")


def identity_of(cell: Cell, checksum: str, split: str, version: int) -> dict[str, Any]:
    """What makes two cells the same: they are never run twice.

    Args:
        cell: The cell.
        checksum: Of the data.
        split: The full name of the split's rule.
        version: Of the method, or of the measurement where no method is trained.
    """
    return {
        "measure": cell.measure,
        "method": cell.method,
        "version": version,
        "checksum": checksum,
        "split": split,
        "index": cell.index,
        "settings": plain(dict(cell.settings)),
    }


def key_of(identity: Mapping[str, Any]) -> str:
    """The key of an identity; further entries, such as the name of the data set, do not count."""
    parts = {name: identity[name] for name in IDENTITY}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def method_cell(
    method: str,
    dataset: str,
    metric: Metric,
    at: Mapping[str, Any],
    split: str,
    index: int,
    changes: Mapping[str, Any] | None = None,
    preset: str | None = None,
) -> Cell:
    """Training one method on one split.

    Args:
        method: Its name.
        dataset: The data.
        metric: How it is scored.
        at: Where the result belongs.
        split: The rule of the split.
        index: Which of its splits.
        changes: Settings that differ from the published ones, or from the defaults.
        preset: Whose published settings are used; ``None`` takes the defaults.
    """
    built = find_method(method).preset(preset, split=split, metric=metric, **(changes or {}))
    settings = built.plain_settings()
    candidates = built.candidates()
    if len(candidates) > 1:
        # What is chosen depends on what there is to choose from.
        settings[CANDIDATES] = [
            {name: value for name, value in one.plain_settings().items() if value != settings[name]}
            for one in candidates
        ]
    for name, value in built.later_settings.items():
        if settings[name] == value:
            del settings[name]
    return Cell("train", dataset, at, split, index, method, settings)
