"""Classes that a split leaves out: such a split is refused, or its score is marked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from unifilter.data import NodeDataset, Split, check_classes

# What a record calls the classes that its scores say nothing about.
UNTESTED, UNVALIDATED = "untested_classes", "unvalidated_classes"


def check_splits(dataset: NodeDataset, splits: Iterable[Split], allow_missing_classes: bool) -> None:
    """Refuses a split that leaves a class out, unless papers report results on it or the user allows it."""
    if dataset.targets is not None:
        return
    for split in splits:
        allow = allow_missing_classes or dataset.is_literature_split(split)
        check_classes(split, dataset.labels, dataset.class_names, allow)


def left_out_of(dataset: NodeDataset, split: Split) -> dict[str, list[str]]:
    """Names of the classes without a test node and without a validation node; what is empty is not there."""
    missing = dataset.missing_classes(split)
    found = {UNTESTED: missing["test"], UNVALIDATED: missing["val"]}
    return {key: names for key, names in found.items() if names}


def left_out_of_any(records: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The same for several records: every class that one of them leaves out."""
    found = {
        key: list(dict.fromkeys(name for record in records for name in record.get(key, ())))
        for key in (UNTESTED, UNVALIDATED)
    }
    return {key: names for key, names in found.items() if names}
