"""Classes without nodes in a part of a split: such splits are rejected, or their scores are marked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from unifilter.data import NodeDataset, Split, check_classes

# Keys of a record for the classes that its scores ignore.
UNTESTED, UNVALIDATED = "untested_classes", "unvalidated_classes"


def check_splits(dataset: NodeDataset, splits: Iterable[Split], allow_missing_classes: bool) -> None:
    """Reject splits with missing classes, unless papers report results on them or the user allows it."""
    if dataset.targets is not None:
        return
    for split in splits:
        allow = allow_missing_classes or dataset.is_literature_split(split)
        check_classes(split, dataset.labels, dataset.class_names, allow)


def left_out_of(dataset: NodeDataset, split: Split) -> dict[str, list[str]]:
    """Names of the classes without a test node and without a validation node. Empty lists are left out."""
    missing = dataset.missing_classes(split)
    found = {UNTESTED: missing["test"], UNVALIDATED: missing["val"]}
    return {key: names for key, names in found.items() if names}


def left_out_of_any(records: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Like :func:`left_out_of` for several records: every class that is missing in any of them."""
    found = {
        key: list(dict.fromkeys(name for record in records for name in record.get(key, ())))
        for key in (UNTESTED, UNVALIDATED)
    }
    return {key: names for key, names in found.items() if names}
