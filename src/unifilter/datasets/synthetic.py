"""Synthetic graphs with known properties: a chosen homophily, and the two synthetic graphs of the UniFilter paper.

All random numbers come from numpy's legacy generator, whose stream never changes: a seed gives the same graph
everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from unifilter._internal.checks import as_labels, check_count, check_fraction
from unifilter.data import NodeDataset
from unifilter.graph import Graph, edge_homophily

# The homophily of the paper's eight graphs G_s. The last is that of Cora; the first is the lowest its authors reached.
G_S_HOMOPHILY = (0.13, 0.20, 0.30, 0.40, 0.50, 0.60, 0.70, 0.81)

# Number of dimensions of the random one-hot features in both synthetic graphs of the paper.
_PAPER_FEATURES = 100

# After one pass every label is random, and further passes change the homophily only by chance: by about 0.005 on a
# graph like Cora. This many passes cover the range that chance can reach.
_PASSES = 50


def contextual_sbm(
    num_nodes: int = 1000,
    num_classes: int = 2,
    homophily: float = 0.5,
    average_degree: float = 10.0,
    num_features: int = 16,
    signal: float = 1.0,
    seed: int = 0,
) -> NodeDataset:
    r"""A contextual stochastic block model with exactly the requested edge homophily.

    The numbers of edges are fixed: of :math:`m = \mathrm{round}(n d / 2)` edges, :math:`\mathrm{round}(h m)` are drawn
    without replacement from the pairs of nodes of the same class, the others from pairs of different classes. The
    homophily therefore differs from the request only by rounding, at most :math:`1 / 2m`. The features of node
    :math:`v` are :math:`s \, \mu_{y_v} + \varepsilon_v`: a random unit vector per class plus standard normal noise.

    Args:
        num_nodes: Number of nodes. Class sizes differ by at most one, and nodes are in random order.
        num_classes: Number of classes.
        homophily: Share of edges that join nodes of the same class, in [0, 1].
        average_degree: Average number of neighbors.
        num_features: Number of features.
        signal: Norm :math:`s` of a class mean. With 0, features are noise; with 4, they nearly suffice to classify.
        seed: Random seed.

    Example:
        >>> from unifilter import edge_homophily
        >>> from unifilter.datasets.synthetic import contextual_sbm
        >>> dataset = contextual_sbm(num_nodes=500, num_classes=4, homophily=0.2, average_degree=8)
        >>> dataset.graph.num_edges, edge_homophily(dataset.graph, dataset.labels)
        (2000, 0.2)
    """
    check_count("num_nodes", num_nodes, "pass the number of nodes")
    check_count("num_classes", num_classes, "pass the number of classes")
    check_count("num_features", num_features, "pass the number of features")
    check_fraction("homophily", homophily)
    if num_classes > num_nodes:
        raise ValueError(f"{num_nodes} nodes cannot have {num_classes} classes: pass at least one node per class")
    if not (np.isfinite(average_degree) and average_degree > 0):
        raise ValueError(f"average_degree must be positive, not {average_degree!r}: pass the mean number of neighbors")
    if not (np.isfinite(signal) and signal >= 0):
        raise ValueError(f"signal must not be negative, not {signal!r}: pass 0 for pure noise")
    num_edges = round(num_nodes * average_degree / 2)
    num_within = round(homophily * num_edges)
    rng = np.random.RandomState(seed)
    labels = rng.permutation(np.arange(num_nodes) % num_classes)
    members = [np.flatnonzero(labels == label) for label in range(num_classes)]
    within = _draw_pairs(rng, [(nodes, nodes) for nodes in members], num_within, "within a class", "lower")
    blocks = [(a, b) for i, a in enumerate(members) for b in members[i + 1 :]]
    between = _draw_pairs(rng, blocks, num_edges - num_within, "between classes", "higher")
    means = rng.standard_normal((num_classes, num_features))
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    features = signal * means[labels] + rng.standard_normal((num_nodes, num_features))
    return NodeDataset(
        name="contextual-sbm",
        graph=Graph.from_edges(np.concatenate([within, between], axis=1), num_nodes=num_nodes),
        features=torch.from_numpy(features.astype(np.float32)),
        labels=torch.from_numpy(labels),
        source=f"generated, seed {seed}",
    )


@dataclass(frozen=True, eq=False)
class Relabeling:
    """New labels for a graph.

    Attributes:
        labels: Class indices, int64 ``[num_nodes]``.
        homophily: Edge homophily of the new labels.
        reassigned: Number of reassignments. A node may be reassigned more than once, or get its old label.
    """

    labels: np.ndarray
    homophily: float
    reassigned: int


def relabeled(graph: Graph, labels: Any, homophily: float, seed: int = 0, tolerance: float = 0.005) -> Relabeling:
    """Reassign labels at random, one node at a time, until the graph has the requested edge homophily.

    Nodes are visited in random order, and each gets a random class among those that occur. This moves the homophily
    from that of the graph towards that of random labels, one over the number of classes, but hardly beyond; other
    targets raise an error. With the same seed, a farther target continues from the labels of a nearer one.

    Args:
        graph: The graph.
        labels: Class indices ``[num_nodes]``; labels of -1 are kept.
        homophily: The target homophily.
        seed: Random seed.
        tolerance: Maximum difference from the target. The default corresponds to the paper's two decimals.

    Raises:
        ValueError: If the target is not reached. The message contains the closest homophily.
    """
    check_fraction("homophily", homophily)
    current = as_labels(labels, graph.num_nodes)
    known = np.flatnonzero(current >= 0)
    classes = np.unique(current[known])
    num_edges, agreeing = _count_edges(graph, current)
    start, neighbors = graph.row_start.cpu().numpy(), graph.neighbors.cpu().numpy()
    rng = np.random.RandomState(seed)
    closest = agreeing / num_edges
    above = closest > homophily
    best = Relabeling(current.copy(), closest, 0) if abs(closest - homophily) <= tolerance else None
    path = () if best else _reassignments(rng, known, classes)
    for reassigned, (node, label) in enumerate(path, start=1):
        around = neighbors[start[node] : start[node + 1]]
        around = current[around[around != node]]
        agreeing += int((around == label).sum()) - int((around == current[node]).sum())
        current[node] = label
        reached = agreeing / num_edges
        if abs(reached - homophily) < abs(closest - homophily):
            closest = reached
            if abs(reached - homophily) <= tolerance:
                best = Relabeling(current.copy(), reached, reassigned)
        if best and (reached > homophily) != above:
            break  # past the target: further reassignments lead away from it
    if best is None:
        raise ValueError(
            f"random labels do not reach a homophily of {homophily:g} on this graph; the closest was {closest:.4f}. "
            f"Reassignment leads from {edge_homophily(graph, labels):.4f} to about {1 / len(classes):.4f}: pass a "
            "target in between"
        )
    return best


def cora_relabeled(dataset: NodeDataset, homophily: float, seed: int = 0) -> NodeDataset:
    """The paper's graph G_s: a data set (Cora in the paper) with random labels and features.

    The graph is unchanged. Labels are reassigned by :func:`relabeled`, and the features of each node are a random
    one-hot vector in 100 dimensions.

    Args:
        dataset: Provides the graph and the initial labels.
        homophily: The target homophily; the paper uses :data:`G_S_HOMOPHILY`.
        seed: Random seed.
    """
    relabeling = relabeled(dataset.graph, dataset.labels, homophily, seed)
    return NodeDataset(
        name=f"{dataset.name}-relabeled",
        graph=dataset.graph,
        # A separate random stream, so that features do not depend on the target homophily.
        features=_random_one_hot(np.random.RandomState([seed, 1]), dataset.graph.num_nodes),
        labels=torch.from_numpy(relabeling.labels),
        class_names=dataset.class_names,
        source=f"graph of {dataset.name}, {relabeling.reassigned} labels reassigned with seed {seed}, "
        f"homophily {relabeling.homophily:.4f}",
    )


def binary_tree(depth: int = 7, seed: int = 0) -> NodeDataset:
    """The paper's graph G_B: a complete binary tree with random labels and features.

    Each node gets one of three classes at random, and a random one-hot vector in 100 dimensions as features.

    Args:
        depth: Number of levels; 7 levels have 127 nodes. Node 0 is the root, the children of i are 2i + 1 and 2i + 2.
        seed: Random seed.
    """
    check_count("depth", depth, "pass the number of levels, 7 in the paper")
    num_nodes = 2**depth - 1
    children = np.arange(1, num_nodes)
    rng = np.random.RandomState(seed)
    return NodeDataset(
        name="binary-tree",
        graph=Graph.from_edges(np.stack([(children - 1) // 2, children]), num_nodes=num_nodes),
        features=_random_one_hot(rng, num_nodes),
        labels=torch.from_numpy(rng.randint(3, size=num_nodes, dtype=np.int64)),
        source=f"generated, seed {seed}",
    )


def _reassignments(
    rng: np.random.RandomState, nodes: np.ndarray, classes: np.ndarray
) -> Iterator[tuple[np.int64, np.int64]]:
    """Pairs of a node and its new label. All nodes are visited in random order, then again in another."""
    for _ in range(_PASSES):
        yield from zip(rng.permutation(nodes), rng.choice(classes, len(nodes)), strict=True)


def _random_one_hot(rng: np.random.RandomState, num_nodes: int) -> torch.Tensor:
    ones = torch.from_numpy(rng.randint(_PAPER_FEATURES, size=num_nodes, dtype=np.int64))
    return torch.nn.functional.one_hot(ones, _PAPER_FEATURES).float()


def _count_edges(graph: Graph, labels: np.ndarray) -> tuple[int, int]:
    """The number of edges with known labels at both ends, and how many of them join equal labels."""
    homophily = edge_homophily(graph, labels)  # raises an error if there are no such edges
    ends = labels[graph.edges()[0].cpu().numpy()]
    num_edges = int((ends >= 0).all(axis=0).sum())
    return num_edges, round(homophily * num_edges)


def _draw_pairs(
    rng: np.random.RandomState, blocks: list[tuple[np.ndarray, np.ndarray]], count: int, where: str, direction: str
) -> np.ndarray:
    """``count`` distinct pairs ``[2, count]``, uniformly from blocks: pairs within one set, or between two sets.

    Pairs are numbered across all blocks, so that they need not be listed.
    """
    sizes = [len(a) * (len(a) - 1) // 2 if a is b else len(a) * len(b) for a, b in blocks]
    end = np.cumsum(np.array(sizes, dtype=np.int64))
    available = int(end[-1]) if blocks else 0
    if count > available:
        raise ValueError(
            f"{count} edges {where} are requested, but there are only {available} such pairs of nodes: pass a "
            f"{direction} homophily, a lower average_degree or more nodes"
        )
    number = np.sort(_draw_distinct(rng, available, count))
    pairs = [np.empty((2, 0), dtype=np.int64)]
    for (a, b), first, last in zip(blocks, end - sizes, end, strict=True):
        own = number[np.searchsorted(number, first) : np.searchsorted(number, last)] - first
        pairs.append(np.stack([a[i] for i in _triangle(own)] if a is b else [a[own // len(b)], b[own % len(b)]]))
    return np.concatenate(pairs, axis=1)


def _triangle(number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pair i < j that is number j (j - 1) / 2 + i in the list of all pairs."""
    j = ((1 + np.sqrt(1 + 8 * number.astype(np.float64))) / 2).astype(np.int64)
    # For large numbers, rounding of the square root can give a j that is one too large.
    j -= j * (j - 1) // 2 > number
    return number - j * (j - 1) // 2, j


def _draw_distinct(rng: np.random.RandomState, population: int, count: int) -> np.ndarray:
    """``count`` distinct numbers below ``population``, without listing the population as numpy's ``choice`` does."""
    if 2 * count > population:
        return np.setdiff1d(np.arange(population), _draw_distinct(rng, population, population - count))
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < count:
        more = rng.randint(population, size=2 * (count - len(drawn)), dtype=np.int64)
        drawn = np.concatenate([drawn, more])
        drawn = drawn[np.sort(np.unique(drawn, return_index=True)[1])]  # first occurrences, in the order drawn
    return drawn[:count]
