"""Which nodes to learn from and which to stop by, from what a user says about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from unifilter._internal.checks import as_node_mask, check_fraction
from unifilter.data.classes import Classes, check_learnable


def choose_nodes(
    classes: Classes, labels: np.ndarray, train: Any, val: Any, validation_fraction: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the nodes to learn from and to stop by.

    Args:
        classes: The classes, for what is said of them.
        labels: The class of each node, -1 where it has none.
        train: A mask or indices; ``None`` takes all nodes that have a class.
        val: A mask or indices; ``None`` holds out ``validation_fraction`` of each class of the training nodes.
        validation_fraction: In (0, 1).
        seed: Of the draw.
    """
    train_mask = labels >= 0 if train is None else as_node_mask(train, len(labels), "train")
    check_labelled(labels, train_mask, "train")
    if val is None:
        check_learnable(labels[train_mask], classes.values.tolist())
        share = check_fraction("validation_fraction", validation_fraction)
        val_mask = _hold_out(labels, train_mask, share, seed)
        return np.flatnonzero(train_mask & ~val_mask), np.flatnonzero(val_mask)
    val_mask = as_node_mask(val, len(labels), "val")
    check_labelled(labels, val_mask, "val")
    if not val_mask.any():
        raise ValueError("val is empty: name some nodes, or leave it out to hold out a share of train")
    if train is None:
        train_mask = train_mask & ~val_mask
    both = np.flatnonzero(train_mask & val_mask)
    if len(both):
        raise ValueError(
            f"node {both[0]} is in train and in val ({len(both)} such nodes in all): a node can be in one of them"
        )
    check_learnable(labels[train_mask], classes.values.tolist())
    return np.flatnonzero(train_mask), np.flatnonzero(val_mask)


def check_labelled(labels: np.ndarray, mask: np.ndarray, name: str) -> None:
    """Every node that a user named must have a class."""
    unknown = np.flatnonzero(mask & (labels < 0))
    if len(unknown):
        raise ValueError(
            f"node {unknown[0]} is in {name} but has no class ({len(unknown)} such nodes in all): "
            "leave it out or label it"
        )


def _hold_out(labels: np.ndarray, train: np.ndarray, share: float, seed: int) -> np.ndarray:
    """A share of each class of the training nodes, at least one of them all, never the last of a class."""
    rng = np.random.RandomState(seed)
    held = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels[train]):
        members = np.flatnonzero(train & (labels == label))
        count = min(max(round(share * len(members)), 1), len(members) - 1)
        held[rng.permutation(members)[:count]] = True
    if not held.any():
        raise ValueError(
            "no training node can be held out for validation, every class has one: pass val, or label more nodes"
        )
    return held
