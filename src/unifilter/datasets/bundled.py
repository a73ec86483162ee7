"""Small data sets that come with installed packages, so that examples run without a download."""

from __future__ import annotations

import networkx as nx
import numpy as np
import scipy.sparse as sp
import torch

from unifilter.data import NodeDataset, pack_features
from unifilter.graph import Graph

_DIGITS_NEIGHBORS = 10


def load(name: str) -> NodeDataset:
    """Load a bundled data set by its name in the catalog."""
    return {"karate": _karate, "digits": _digits}[name]()


def _karate() -> NodeDataset:
    """Zachary's karate club: friendships outside the club, and the half each member joined after it split."""
    club = nx.karate_club_graph()
    names = ("Mr. Hi", "Officer")
    return NodeDataset(
        name="karate",
        graph=Graph.from_networkx(club, weight=None),
        features=pack_features(sp.identity(len(club), dtype=np.float32, format="csr")),
        labels=torch.tensor([names.index(half) for _, half in club.nodes(data="club")]),
        class_names=names,
        source="networkx",
    )


def _digits() -> NodeDataset:
    """Handwritten digits of 8 x 8 pixels, each joined to the ten most similar ones."""
    from sklearn.datasets import load_digits  # imported here because it takes a second

    pixels, labels = load_digits(return_X_y=True)
    return NodeDataset(
        name="digits",
        graph=Graph.from_edges(_nearest_neighbors(pixels.astype(np.int64), _DIGITS_NEIGHBORS)),
        features=pack_features(pixels.astype(np.float32) / 16),
        labels=torch.from_numpy(labels),
        class_names=tuple("0123456789"),
        source="scikit-learn",
    )


def _nearest_neighbors(points: np.ndarray, count: int) -> np.ndarray:
    """Edges from each point to its nearest neighbors. Ties go to the points with the lowest index.

    Distances are integers, so that the neighbors are the same on every machine.
    """
    squares = (points**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * (points @ points.T)
    np.fill_diagonal(distances, np.iinfo(np.int64).max)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :count]
    return np.stack([np.repeat(np.arange(len(points)), count), nearest.ravel()])
