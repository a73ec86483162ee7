"""Selection of training and validation nodes from user arguments."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from unifilter._internal.checks import as_node_mask, check_fraction
from unifilter.data.classes import check_learnable
from unifilter.data.preparation import DataWarning


def choose_nodes(
    classes: Sequence[Any] | None, labels: np.ndarray, train: Any, val: Any, validation_fraction: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the training nodes and the validation nodes.

    Args:
        classes: The classes, for messages; ``None`` for tasks without classes.
        labels: Class index of each node, -1 if unknown. For tasks without classes, 0 if the target is known.
        train: A mask or indices; ``None`` takes all nodes with a known label or target.
        val: A mask or indices; ``None`` holds out ``validation_fraction`` of each class of the training nodes.
        validation_fraction: A number in (0, 1).
        seed: Random seed for the nodes held out.
    """
    train_mask = labels >= 0 if train is None else as_node_mask(train, len(labels), "train")
    check_labeled(labels, train_mask, "train")
    if val is None:
        _check_learnable(labels[train_mask], classes)
        share = check_fraction("validation_fraction", validation_fraction)
        val_mask = _hold_out(labels, train_mask, share, seed)
        return np.flatnonzero(train_mask & ~val_mask), np.flatnonzero(val_mask)
    val_mask = as_node_mask(val, len(labels), "val")
    check_labeled(labels, val_mask, "val")
    if not val_mask.any():
        raise ValueError("val is empty: pass some nodes, or leave val out to hold out a share of train")
    if train is None:
        train_mask = train_mask & ~val_mask
    both = np.flatnonzero(train_mask & val_mask)
    if len(both):
        raise ValueError(
            f"node {both[0]} is in both train and val ({len(both)} such nodes in all): keep it in one of them"
        )
    _check_learnable(labels[train_mask], classes)
    if classes is not None:
        _warn_of_missing(labels, train_mask, val_mask, classes)
    return np.flatnonzero(train_mask), np.flatnonzero(val_mask)


def _check_learnable(labels: np.ndarray, classes: Sequence[Any] | None) -> None:
    if classes is not None:
        check_learnable(labels, classes)
    elif len(labels) < 2:
        raise ValueError("too few training nodes: train must contain at least two nodes whose target is known")


def _warn_of_missing(labels: np.ndarray, train: np.ndarray, val: np.ndarray, classes: Sequence[Any]) -> None:
    missing = np.setdiff1d(labels[train], labels[val])
    if len(missing):
        names = ", ".join(repr(classes[label]) for label in missing)
        warnings.warn(
            f"val has no node of class {names}: the validation score, which selects the model, says nothing about "
            "it; leave val out to hold out a share of every class",
            DataWarning,
            stacklevel=4,
        )


def check_labeled(labels: np.ndarray, mask: np.ndarray, name: str) -> None:
    """Check that every node chosen by the user has a label or target."""
    unknown = np.flatnonzero(mask & (labels < 0))
    if len(unknown):
        raise ValueError(
            f"node {unknown[0]} is in {name}, but its label or target is unknown ({len(unknown)} such nodes in all): "
            "leave it out, or pass its label or target"
        )


def _hold_out(labels: np.ndarray, train: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Hold out a share of each class of the training nodes: at least one node overall, never the last of a class."""
    rng = np.random.RandomState(seed)
    held = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels[train]):
        members = np.flatnonzero(train & (labels == label))
        count = min(max(round(share * len(members)), 1), len(members) - 1)
        held[rng.permutation(members)[:count]] = True
    if not held.any():
        raise ValueError(
            "no training node can be held out for validation, every class has only one: pass val, or label more nodes"
        )
    return held
