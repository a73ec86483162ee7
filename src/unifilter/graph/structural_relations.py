"""Structural similarity of nodes anywhere in the graph: the weighted relations used by WRGAT."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.array_cache import cached_arrays
from unifilter._internal.checks import check_count
from unifilter._internal.memory import check_memory
from unifilter.graph.graph import Graph
from unifilter.kernels.backend import numba_chosen
from unifilter.kernels.structural_distance import degree_rings, ring_distances, ring_sizes, starts_of


class _Speed(NamedTuple):
    """Operations per second on one core: edges visited to find rings, and elements of ring lists compared."""

    edges: float
    elements: float


# Measured with and without numba.
_SPEED = {True: _Speed(2e8, 5e6), False: _Speed(1e7, 5e4)}
_MOST_HOURS = 3
# Number of sampled nodes, enough to estimate the mean over all nodes.
_NODES_LOOKED_AT = 50


class Relation(NamedTuple):
    """Compressed sparse rows of one relation: row ``i`` lists the nodes that node ``i`` receives messages from.

    Attributes:
        starts: Start of each row among the entries, int64 ``[num_nodes + 1]``.
        columns: Column of each entry, int32.
        weights: Weight of each entry, float32. The weights of a column sum to 1.
    """

    starts: Tensor
    columns: Tensor
    weights: Tensor


def structural_relations(
    graph: Graph, layers: int | None = None, *, cache_dir: str | Path | None = None
) -> list[Relation]:
    r"""Relations between nodes with similar surroundings, one for each number of hops considered, as in
    "struc2vec: Learning Node Representations from Structural Identity" (2017).

    Every node is compared with the :math:`\lfloor 2 \log_2 n \rfloor + 1` nodes of nearest degree.
    The distance of two nodes at layer k is :math:`f_k = f_{k-1} + \mathrm{DTW}(R_k(u), R_k(v))`, where
    :math:`R_k(u)` is the list of degrees, each with its number of nodes, in the ring of all nodes exactly k hops from
    u. The cost of two elements is :math:`((d + 1/2) / (d' + 1/2) - 1)` for degrees :math:`d \ge d'`, times the larger
    number of nodes. Dynamic time warping is approximated by "fastDTW" of radius 1. At every layer for which both have
    rings, compared nodes exchange messages with the weight :math:`e^{-f_k}`, divided by the sum over all receivers of
    the same node.

    Weights and self-loops of the graph are ignored. A graph that would need too much memory or time raises an error.

    Args:
        graph: The graph.
        layers: Maximum number of layers. Default: all, one more than the largest distance between two nodes.
        cache_dir: Folder for the distances. Default: the folder ``structural-distances`` in the one named by the
            environment variable ``UNIFILTER_CACHE``, or in the user's cache folder.

    Example:
        >>> import tempfile, torch
        >>> from unifilter import Graph
        >>> from unifilter.graph.structural_relations import structural_relations
        >>> path = Graph.from_edges(torch.tensor([[0, 1, 2], [1, 2, 3]]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     relations = structural_relations(path, cache_dir=folder)
        >>> len(relations)  # both ends of the path have four rings
        4
        >>> relations[3].columns, relations[3].weights
        (tensor([3, 0], dtype=torch.int32), tensor([1., 1.]))
    """
    if layers is not None:
        check_count("layers", layers, "leave it out to use all")
    graph = graph.to("cpu").with_self_loops("remove")
    limit = graph.num_nodes if layers is None else min(layers, graph.num_nodes)
    found = cached_arrays(
        f"structural distances of {graph.num_nodes:,} nodes",
        "structural-distances",
        f"{graph.checksum}-{limit if layers else 'all'}",
        lambda: _distances(graph, limit),
        cache_dir,
    )
    return _relations(graph.num_nodes, found["pairs"], found["starts"], found["distances"])


def nearest_by_degree(degree: np.ndarray) -> np.ndarray:
    r"""Pairs of each node with the :math:`\lfloor 2 \log_2 n \rfloor + 1` others of nearest degree, ``[2, num_pairs]``.

    Every pair is listed once, the smaller node first. In a tie the larger degree comes first, and among nodes of the
    same degree the one with the smaller index.
    """
    nodes = len(degree)
    count = min(math.floor(2 * math.log2(nodes)) + 1, nodes - 1)
    distinct, of_node = np.unique(degree, return_inverse=True)
    with_degree = np.split(np.argsort(of_node, kind="stable"), np.cumsum(np.bincount(of_node))[:-1])
    pairs = []
    for index, members in enumerate(with_degree):
        # Nodes of the same degree share the candidates. One more is needed, because a node is no candidate for itself.
        nearest = _nearest(distinct, with_degree, index, count + 1)
        own = members[:, None] == nearest
        own[~own.any(axis=1), -1] = True
        others = np.broadcast_to(nearest, own.shape)[~own].reshape(len(members), count)
        pairs.append(np.stack([np.repeat(members, count), others.ravel()]))
    left, right = np.sort(np.concatenate(pairs, axis=1), axis=0)
    return np.stack(np.divmod(np.unique(left * np.int64(nodes) + right), nodes)).astype(np.int32)


def _nearest(distinct: np.ndarray, with_degree: list[np.ndarray], index: int, count: int) -> np.ndarray:
    """The ``count`` nodes of nearest degree to ``distinct[index]``."""
    found, size = [with_degree[index]], len(with_degree[index])
    below, above = index - 1, index + 1
    while size < count:
        near_above = above < len(distinct) and (
            below < 0 or distinct[above] - distinct[index] <= distinct[index] - distinct[below]
        )
        found.append(with_degree[above if near_above else below])
        size += len(found[-1])
        below, above = (below, above + 1) if near_above else (below - 1, above)
    return np.concatenate(found)[:count]


def _distances(graph: Graph, limit: int) -> dict[str, np.ndarray]:
    row_start, neighbors = graph.row_start.numpy(), graph.neighbors.numpy()
    pairs = nearest_by_degree(np.diff(row_start))
    _check_size(graph, limit, pairs.shape[1])
    sizes = ring_sizes(row_start, neighbors, limit, np.arange(graph.num_nodes))
    starts, distances = ring_distances(degree_rings(row_start, neighbors, sizes), pairs)
    return {"pairs": pairs, "starts": starts, "distances": distances}


def _check_size(graph: Graph, limit: int, pairs: int) -> None:
    """Raise an error if too much memory or time is needed, estimated from the rings of a sample of nodes."""
    row_start, neighbors = graph.row_start.numpy(), graph.neighbors.numpy()
    nodes = np.unique(np.linspace(0, graph.num_nodes - 1, _NODES_LOOKED_AT, dtype=np.int64))
    rings, elements = (float(size.mean()) for size in ring_sizes(row_start, neighbors, limit, nodes))
    what, remedy = (
        f"the structural distances of {graph.num_nodes:,} nodes",
        "fewer structural layers, or another method",
    )
    check_memory(what, 8 * (graph.num_nodes * (rings + elements) + pairs * rings), f"take {remedy}")
    speed = _SPEED[numba_chosen()]
    # Rings are searched twice, to count and to fill. A comparison visits the elements of both nodes.
    hours = (2 * graph.num_nodes * len(neighbors) / speed.edges + 2 * pairs * elements / speed.elements) / 3600
    if hours > _MOST_HOURS:
        faster = "" if numba_chosen() else "install numba, which is a hundred times as fast, or "
        raise ValueError(
            f"{what} would take about {hours:,.0f} hours, more than the limit of {_MOST_HOURS}: {faster}take {remedy}"
        )


def _relations(nodes: int, pairs: np.ndarray, starts: np.ndarray, distances: np.ndarray) -> list[Relation]:
    counts = np.diff(starts)
    relations = []
    for layer in range(max(int(counts.max(initial=0)), 1)):
        reached = counts > layer
        left, right = pairs[:, reached]
        rows, columns = np.concatenate([left, right]), np.concatenate([right, left])
        distance = np.tile(distances[starts[:-1][reached] + layer], 2)
        # Relative to the nearest, so that weights do not all vanish if every node is far away.
        nearest = np.full(nodes, np.inf)
        np.minimum.at(nearest, columns, distance)
        weights = np.exp(nearest[columns] - distance)
        weights /= np.bincount(columns, weights, minlength=nodes)[columns]
        order = np.lexsort((columns, rows))
        relations.append(
            Relation(
                torch.from_numpy(starts_of(np.bincount(rows, minlength=nodes))),
                torch.from_numpy(columns[order]),
                torch.from_numpy(weights[order].astype(np.float32)),
            )
        )
    return relations
