"""Orders of the nodes that bring neighbors close together in memory."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from unifilter._internal.memory import resident_bytes, said_bytes

NodeOrder = Literal["degree", "rcm"]

# Bytes per node to sort the degrees, and to keep the order and its inverse.
_BYTES_PER_NODE = 40
# Bytes per listed edge for the adjacency in memory that scipy needs, and to build it.
_BYTES_PER_EDGE = 64
# scipy's implementation takes 32-bit indices.
_MOST_ENTRIES = 2**31 - 1


def check_room(nodes: int, limit: int) -> None:
    """Raise an error if an order of the nodes does not fit into memory."""
    needed = resident_bytes() + _BYTES_PER_NODE * nodes
    if needed > limit:
        raise ValueError(
            f"the order of {nodes:,} nodes needs {said_bytes(needed)} of memory, and memory_limit is "
            f"{said_bytes(limit)}: raise it, or leave order out"
        )


def by_degree(degree: np.ndarray) -> np.ndarray:
    """The nodes by falling degree, so that those that most products read share cache lines."""
    return np.argsort(-degree, kind="stable")


def check_room_for_rcm(nodes: int, edges: int, limit: int) -> None:
    """Raise an error if the adjacency does not fit into memory."""
    needed = resident_bytes() + _BYTES_PER_NODE * nodes + _BYTES_PER_EDGE * edges
    if needed > limit or 2 * edges > _MOST_ENTRIES:
        why = f"needs {said_bytes(needed)} of memory, and memory_limit is {said_bytes(limit)}"
        if 2 * edges > _MOST_ENTRIES:
            why = "is for fewer than 2^30 edges"
        raise ValueError(
            f'order="rcm" of {nodes:,} nodes and {edges:,} edges {why}: '
            + ('pass order="degree"' if 2 * edges > _MOST_ENTRIES else 'raise it, or pass order="degree"')
        )


def by_cuthill_mckee(source: np.ndarray, target: np.ndarray, nodes: int) -> np.ndarray:
    """The reverse Cuthill-McKee order, which keeps neighbors at a small distance where the graph allows it."""
    ends = np.concatenate([source, target]), np.concatenate([target, source])
    adjacency = sp.csr_array((np.ones(len(ends[0]), np.int8), ends), shape=(nodes, nodes))
    return np.asarray(reverse_cuthill_mckee(adjacency, symmetric_mode=True), dtype=np.int64)
