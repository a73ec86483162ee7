"""The splits of a data set by the name of their rule: those that come with it, and those drawn on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unifilter.data.splits import Split, linkx_split, named_random_splits, stratified_split

if TYPE_CHECKING:
    from unifilter.data.node_dataset import NodeDataset

# Short names of splits, after the percentage of training nodes.
_SHORT_NAMES = {"60": "random-60-20-20", "48": "geom-gcn-48-32-20"}
# Rules that draw a split for any seed.
_DRAWN = ("stratified", "linkx-50-25-25")
# Number of splits drawn by a rule if the data has no splits of its own.
_NUM_DRAWN = 10


def short_split_name(name: str) -> str:
    """The short name of a split, such as ``"48"`` for ``"geom-gcn-48-32-20"``, if there is one."""
    return next((short for short, full in _SHORT_NAMES.items() if full == name), name)


def full_split_name(name: str) -> str:
    """The name of the rule for a short name; any other name as it is."""
    return _SHORT_NAMES.get(name, name)


def one_split(dataset: NodeDataset, name: str, index: int) -> Split:
    """See :meth:`unifilter.data.NodeDataset.split`."""
    if isinstance(index, bool) or not isinstance(index, (int, np.integer)) or index < 0:
        raise ValueError(f"the index of a split must be a whole number of at least 0, not {index!r}: pass 0")
    if not dataset.answered.any():
        raise ValueError(
            f"{dataset.name!r} has no labels, so it cannot be split: add labels; in a table they are a column label, "
            "target or label:NAME"
        )
    if name in _DRAWN and name not in dataset.splits:
        return _draw(dataset, name, int(index))
    found = all_splits(dataset, name)
    if index >= len(found):
        raise ValueError(
            f"{dataset.name!r} has {len(found)} {name!r} splits, there is no number {index}: "
            f"pass an index from 0 to {len(found) - 1}"
        )
    return found[index]


def all_splits(dataset: NodeDataset, name: str) -> tuple[Split, ...]:
    """All splits of a rule that come with the data, or ten."""
    full = full_split_name(name)
    if full in dataset.splits:
        return dataset.splits[full]
    if full in _DRAWN:
        return tuple(_draw(dataset, full, seed) for seed in range(_NUM_DRAWN))
    drawn = named_random_splits(dataset.strata, full)
    if drawn is not None:
        return drawn
    known = [*dataset.splits, "60", "stratified"]
    if _SHORT_NAMES["48"] in dataset.splits:
        known.append("48")
    raise ValueError(
        f"{dataset.name!r} has no split {name!r}: it has {', '.join(map(repr, known))}, "
        "and random ones of any shares, such as 'random-48-32-20'"
    )


def count_splits(dataset: NodeDataset, name: str) -> int:
    """The length of :func:`all_splits`, without drawing them."""
    return len(dataset.splits.get(full_split_name(name), range(_NUM_DRAWN)))


def split_names(dataset: NodeDataset) -> tuple[str, ...]:
    """See :attr:`unifilter.data.NodeDataset.split_names`."""
    named: dict[str, str] = {}
    for name in (dataset.default_split, *dataset.splits, "stratified", "60"):
        named.setdefault(full_split_name(name), name)  # lists a split under one name only
    return tuple(named.values())


def _draw(dataset: NodeDataset, rule: str, seed: int) -> Split:
    if rule == "stratified":
        return stratified_split(dataset.strata, 0.6, 0.2, seed, dataset.class_names)
    return linkx_split(dataset.strata, seed)
