"""A cell is one measurement of an experiment. Its key identifies the stored result."""

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
        measure: What to measure: a name in :data:`unifilter.experiments.measures.MEASURES`.
        dataset: Name of the data, as in :class:`unifilter.experiments.engine.sources.Sources`.
        at: Position of the result in the table or figure; not part of the key.
        split: Name of the split rule; empty if no split is needed.
        index: Index of the split.
        method: Method to train; empty if none.
        settings: Everything else that the result depends on; for a method, all its hyperparameters.
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


# Key for the alternatives of settings that a cell leaves open.
CANDIDATES = "candidates"

# The entries of a key. The name of the data set is not one of them, because its checksum identifies the data.
IDENTITY = ("measure", "method", "version", "checksum", "split", "index", "settings")


def identity_of(cell: Cell, checksum: str, split: str, version: int) -> dict[str, Any]:
    """The identity of a cell. Cells with the same identity are run only once.

    Args:
        cell: The cell.
        checksum: Checksum of the data.
        split: Full name of the split rule.
        version: Version of the method, or of the measurement if no method is trained.
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
    """The key of an identity. Other entries, such as the name of the data set, are ignored."""
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
    """A cell that trains one method on one split.

    Args:
        method: Name of the method.
        dataset: Name of the data.
        metric: The metric.
        at: Position of the result.
        split: Name of the split rule.
        index: Index of the split.
        changes: Settings that differ from the published ones, or from the defaults.
        preset: Data set whose published settings are used; ``None`` uses the defaults.
    """
    built = find_method(method).preset(preset, split=split, metric=metric, **(changes or {}))
    settings = built.plain_settings()
    candidates = built.candidates()
    if len(candidates) > 1:
        # The chosen settings depend on the alternatives.
        settings[CANDIDATES] = [
            {name: value for name, value in one.plain_settings().items() if value != settings[name]}
            for one in candidates
        ]
    for name, value in built.later_settings.items():
        if settings[name] == value:
            del settings[name]
    return Cell("train", dataset, at, split, index, method, settings)
