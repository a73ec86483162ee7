"""Splits into training, validation and test nodes: the rules of the literature, and one for new data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from unifilter._internal.checks import as_labels

# The ten seeds of UniFilter's published code. BernNet, ChebNetII and EvenNet use 4198936517, 4023022221 and 629014539
# as the second, fourth and eighth seed, AdaptKry 2519445423 and 1254279832 as the second and fourth.
SEEDS = (1941488137, 25190, 983997847, 12591, 4019585660, 2108550661, 1648766618, 329014539, 3212139042, 2424918363)

# Names of the parts of a split in messages.
PART_NAMES = {"train": "training", "val": "validation", "test": "test"}


@dataclass(frozen=True, eq=False)
class Split:
    """Three disjoint sets of nodes, and how to draw them again.

    Attributes:
        name: The rule that drew the nodes, such as ``"random-60-20-20"`` or ``"geom-gcn-48-32-20"``.
        index: Index of the split among those of the rule, from 0.
        train, val, test: Node indices in ascending order, int64.
        seed: Random seed of the split; ``None`` if the split came from a file.
    """

    name: str
    index: int
    train: np.ndarray
    val: np.ndarray
    test: np.ndarray
    seed: int | None = None

    def __repr__(self) -> str:
        sizes = f"train={len(self.train)}, val={len(self.val)}, test={len(self.test)}"
        return f"{type(self).__name__}({self.name!r}, index={self.index}, {sizes}, seed={self.seed})"


def random_split(labels: Any, train: float = 0.6, val: float = 0.2, seed: int | None = None, index: int = 0) -> Split:
    """A random split as the papers on polynomial filters draw it, node for node.

    With n labeled nodes in C classes, ``round(train * n / C)`` training nodes are drawn from *each class*, in the order
    of the classes. A class with fewer nodes goes entirely into the training set. ``round(val * n)`` of the remaining
    nodes are drawn for validation, and the others are the test nodes. With classes of different sizes this is not
    60/20/20, and small classes may have no test node: on Cora, two of the seven have none.

    Args:
        labels: Class indices ``[num_nodes]``; nodes with -1 are ignored.
        train: Training nodes as a share of the labeled nodes.
        val: Validation nodes as a share of the labeled nodes.
        seed: Random seed. Default: ``SEEDS[index]``.
        index: Index of the split, from 0.

    Example:
        >>> import numpy as np
        >>> from unifilter.data.splits import random_split
        >>> random_split(np.arange(100) % 4, index=3)
        Split('random-60-20-20', index=3, train=60, val=20, test=20, seed=12591)
    """
    _check_shares(train, val)
    if seed is None:
        if not 0 <= index < len(SEEDS):
            raise ValueError(f"there are {len(SEEDS)} published seeds, 0 to {len(SEEDS) - 1}, not {index}: pass a seed")
        seed = SEEDS[index]
    known = _labels(labels)
    labeled = np.flatnonzero(known >= 0)
    num_classes = int(known.max(initial=-1)) + 1
    per_class = round(train * len(labeled) / max(num_classes, 1))
    rng = np.random.RandomState(seed)
    drawn = []
    for label in range(num_classes):
        members = np.flatnonzero(known == label)
        # A class of exactly this size is also drawn from, because that advances the generator as in the published code.
        drawn.append(members if len(members) < per_class else rng.choice(members, per_class, replace=False))
    training = np.concatenate([np.empty(0, dtype=np.int64), *drawn])
    rest = np.setdiff1d(labeled, training)
    validation = rng.choice(rest, min(round(val * len(labeled)), len(rest)), replace=False)
    testing = np.setdiff1d(rest, validation)
    return _checked(_named("random", train, val), index, training, validation, testing, seed, known)


def named_random_splits(labels: Any, name: str) -> tuple[Split, ...] | None:
    """The ten random splits for a name such as ``"random-48-32-20"``, or ``None`` for other names.

    Args:
        labels: As in :func:`random_split`.
        name: ``random-`` and the shares of the three parts in percent.
    """
    shares = re.fullmatch(r"random-(\d+)-(\d+)-(\d+)", name)
    if shares is None:
        return None
    train, val, test = map(int, shares.groups())
    if train + val + test != 100:
        raise ValueError(f"the shares of {name!r} add up to {train + val + test}: they must add up to 100 percent")
    return tuple(random_split(labels, train / 100, val / 100, seed, index) for index, seed in enumerate(SEEDS))


def stratified_split(
    labels: Any, train: float = 0.6, val: float = 0.2, seed: int = 0, class_names: Sequence[str] = ()
) -> Split:
    """A split for new data: every class is divided in proportion, with at least one node in each part.

    Args:
        labels: Class indices ``[num_nodes]``; nodes with -1 are ignored. A class needs three labeled nodes.
        train: Training nodes as a share of each class.
        val: Validation nodes as a share of each class.
        seed: Random seed, and index of the split.
        class_names: Class names for messages.

    Example:
        >>> import numpy as np
        >>> from unifilter.data.splits import stratified_split
        >>> split = stratified_split(np.array([0] * 50 + [1] * 5))
        >>> split, int((split.test >= 50).sum())  # one of the five nodes of class 1 is a test node
        (Split('stratified-60-20-20', index=0, train=33, val=11, test=11, seed=0), 1)
    """
    _check_shares(train, val)
    known = _labels(labels)
    rng = np.random.RandomState(seed)
    parts: list[list[np.ndarray]] = [[np.empty(0, dtype=np.int64)] for _ in range(3)]
    for label in np.unique(known[known >= 0]):
        members = rng.permutation(np.flatnonzero(known == label))
        if len(members) < 3:
            raise ValueError(
                f"{_class_title(label, class_names)} has {_nodes(len(members))}, too few for a training, a "
                "validation and a test node: label more of it, merge it with another class, or set its labels to -1"
            )
        for_training = min(max(round(train * len(members)), 1), len(members) - 2)
        for_validation = min(max(round(val * len(members)), 1), len(members) - for_training - 1)
        for part, nodes in zip(parts, np.split(members, [for_training, for_training + for_validation]), strict=True):
            part.append(nodes)
    training, validation, testing = (np.concatenate(part) for part in parts)
    return _checked(_named("stratified", train, val), seed, training, validation, testing, seed, known)


def linkx_split(labels: Any, seed: int) -> Split:
    """A split by LINKX's rule: half of the labeled nodes for training, a quarter for validation, the rest for testing.

    Classes are not balanced. As in LINKX, the training and validation nodes are the first ``int(n / 2)`` and the next
    ``int(n / 4)`` nodes of a permutation by numpy's legacy generator. The fixed splits published with Penn94 and other
    graphs have no seed and must be read from their files.

    Args:
        labels: Class indices ``[num_nodes]``; nodes with -1 are ignored.
        seed: Random seed, and index of the split.
    """
    known = _labels(labels)
    labeled = np.flatnonzero(known >= 0)
    order = labeled[np.random.RandomState(seed).permutation(len(labeled))]
    half, quarter = len(order) // 2, len(order) // 4
    training, validation, testing = np.split(order, [half, half + quarter])
    return _checked("linkx-50-25-25", seed, training, validation, testing, seed, known)


def masks_to_splits(name: str, train: Any, val: Any, test: Any) -> tuple[Split, ...]:
    """Convert boolean masks in PyG's form, one column per split, to splits.

    Args:
        name: Name of the rule.
        train: Boolean ``[num_nodes, num_splits]``, or ``[num_nodes]``. If some masks have two dimensions, a mask with
            one dimension belongs to every split, as in PyG's WikiCS.
        val: Like ``train``.
        test: Like ``train``.
    """
    masks = [_mask(part, mask) for part, mask in zip(("train", "val", "test"), (train, val, test), strict=True)]
    num_nodes, num_splits = masks[0].shape[0], max(mask.shape[1] for mask in masks)
    if num_splits == 0:
        raise ValueError(f"the masks of {name!r} contain no split, shape {list(masks[0].shape)}: leave them out")
    for part, mask in zip(("val", "test"), masks[1:], strict=True):
        if mask.shape[0] != num_nodes:
            raise ValueError(
                f"the {part} mask of {name!r} has {mask.shape[0]} rows, the train mask {num_nodes}: pass one per node"
            )
    for part, mask in zip(("train", "val", "test"), masks, strict=True):
        if mask.shape[1] not in (1, num_splits):
            raise ValueError(
                f"the {part} mask of {name!r} has {mask.shape[1]} columns but another has {num_splits}: "
                "pass the same number of splits in each"
            )
    columns = [np.broadcast_to(mask, (num_nodes, num_splits)).T for mask in masks]
    splits = []
    for index, split_masks in enumerate(zip(*columns, strict=True)):
        training, validation, testing = map(np.flatnonzero, split_masks)
        splits.append(Split(name, index, training, validation, testing))
        _check_parts(splits[-1], num_nodes)
    return tuple(splits)


def check_split(split: Split, labels: Any) -> None:
    """Check that a split can be trained, tuned and tested on.

    The parts must be disjoint, non-empty sets of existing, labeled nodes.
    """
    known = _labels(labels)
    _check_parts(split, len(known))
    for part, nodes in _parts(split):
        unknown = nodes[known[nodes] < 0]
        if len(unknown):
            raise ValueError(
                f"node {unknown[0]} in the {part} set of {_title(split)} has no label: leave it out or label it "
                f"({len(unknown)} such node{'s' * (len(unknown) != 1)} in all)"
            )


def missing_classes(split: Split, labels: Any, num_classes: int) -> dict[str, list[int]]:
    """Classes that occur among the labeled nodes but not in a part of a split, for each part.

    Args:
        split: The split.
        labels: Class indices ``[num_nodes]``; -1 is unknown.
        num_classes: Number of classes.

    Example:
        >>> import numpy as np
        >>> from unifilter.data.splits import missing_classes, random_split
        >>> labels = np.array([0] * 90 + [1] * 10)
        >>> missing_classes(random_split(labels), labels, 2)  # all 10 nodes of class 1 are training nodes
        {'train': [], 'val': [1], 'test': [1]}
    """
    known = _labels(labels)
    occurs = np.bincount(known[known >= 0], minlength=num_classes) > 0
    missing = {}
    for part, nodes in _parts(split):
        there = np.bincount(known[nodes], minlength=num_classes) > 0
        missing[part] = np.flatnonzero(occurs & ~there).tolist()
    return missing


def check_classes(
    split: Split,
    labels: Any,
    class_names: Sequence[str] = (),
    allow: bool = False,
    remedy: str = "pass split='stratified', label more nodes of it, or pass allow_missing_classes=True to train anyway",
) -> None:
    """Reject a split in which a class has no training, validation or test node, unless this is allowed.

    Args:
        split: The split.
        labels: Class indices ``[num_nodes]``; -1 is unknown.
        class_names: Class names for messages. Default: the class indices.
        allow: Accept such a split.
        remedy: Advice at the end of the message.
    """
    known = _labels(labels)
    missing = missing_classes(split, known, max(len(class_names), int(known.max(initial=-1)) + 1))
    left_out = sorted(set().union(*missing.values()))
    if allow or not left_out:
        return
    first = left_out[0]
    parts = " or ".join(PART_NAMES[part] for part, classes in missing.items() if first in classes)
    others = f" ({len(left_out)} such classes in all)" if len(left_out) > 1 else ""
    raise ValueError(
        f"{_class_title(first, class_names)} has {_nodes(int((known == first).sum()))}, but no {parts} node in "
        f"{_title(split)}{others}: {remedy}"
    )


def _check_parts(split: Split, num_nodes: int) -> None:
    counts = np.zeros(num_nodes, dtype=np.int64)
    for part, nodes in _parts(split):
        if nodes.ndim != 1 or not np.issubdtype(nodes.dtype, np.integer):
            raise ValueError(
                f"the {part} set of {_title(split)} must be a list of node indices, not {nodes.dtype} of shape "
                f"{list(nodes.shape)}: convert masks with masks_to_splits"
            )
        if len(nodes) == 0:
            raise ValueError(f"the {part} set of {_title(split)} is empty: it needs at least one node")
        outside = nodes[(nodes < 0) | (nodes >= num_nodes)]
        if len(outside):
            raise ValueError(
                f"the {part} set of {_title(split)} contains node {outside[0]}, which does not exist: nodes are 0 to "
                f"{num_nodes - 1}"
            )
        counts += np.bincount(nodes, minlength=num_nodes)
    twice = np.flatnonzero(counts > 1)
    if len(twice):
        where = " and ".join(part for part, nodes in _parts(split) for _ in range(int((nodes == twice[0]).sum())))
        raise ValueError(
            f"node {twice[0]} is listed more than once in {_title(split)}, in {where}: list each node once "
            f"({len(twice)} such node{'s' * (len(twice) != 1)} in all)"
        )


def _checked(
    name: str, index: int, train: np.ndarray, val: np.ndarray, test: np.ndarray, seed: int, labels: np.ndarray
) -> Split:
    split = Split(name, index, np.sort(train), np.sort(val), np.sort(test), seed)
    check_split(split, labels)
    return split


def _parts(split: Split) -> Sequence[tuple[str, np.ndarray]]:
    return ("train", split.train), ("val", split.val), ("test", split.test)


def _class_title(label: int, class_names: Sequence[str]) -> str:
    return f"class {class_names[label]!r}" if len(class_names) else f"class {label}"


def _nodes(count: int) -> str:
    return f"{count} labeled node{'s' * (count != 1)}"


def _title(split: Split) -> str:
    return f"split {split.index} of {split.name!r}"


def _named(rule: str, train: float, val: float) -> str:
    return f"{rule}-{100 * train:g}-{100 * val:g}-{100 * (1 - train - val):.4g}"


def _check_shares(train: float, val: float) -> None:
    if not (train > 0 and val > 0 and train + val < 1):
        raise ValueError(
            f"train={train} and val={val} must be positive and leave a share for testing: pass 0.6 and 0.2, for example"
        )


def _labels(labels: Any) -> np.ndarray:
    return as_labels(labels, len(labels))


def _mask(part: str, mask: Any) -> np.ndarray:
    values = mask.detach().cpu().numpy() if isinstance(mask, Tensor) else np.asarray(mask)
    if values.dtype != bool or values.ndim not in (1, 2):
        raise ValueError(
            f"the {part} mask must be bool of shape [num_nodes] or [num_nodes, num_splits], not {values.dtype} of "
            f"shape {list(values.shape)}: convert it with .bool()"
        )
    columns = values[:, None] if values.ndim == 1 else values
    if columns.shape[1] > columns.shape[0]:
        raise ValueError(
            f"the {part} mask has {columns.shape[1]} columns and {columns.shape[0]} rows, but columns are splits and "
            "rows are nodes: transpose it with .T"
        )
    return columns
