"""Graphs with a known answer: a chosen homophily, and the two synthetic graphs of the UniFilter paper.

Everything is drawn from numpy's legacy generator, whose stream never changes: one seed gives the same bits everywhere.
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

# The homophily of the paper's eight graphs G_s. The last is Cora's own; the first is the least that its authors got.
G_S_HOMOPHILY = (0.13, 0.20, 0.30, 0.40, 0.50, 0.60, 0.70, 0.81)

# Both synthetic graphs of the paper have random one-hot features in so many dimensions.
_PAPER_FEATURES = 100

# After one pass every label is random and only chance moves the homophily, by about half a hundredth on a graph like
# Cora; so many passes meet what chance can reach.
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
    r"""A graph with exactly the edge homophily asked for, and features that know the classes as well as asked for.

    A contextual stochastic block model with fixed counts: of the :math:`m = \mathrm{round}(n d / 2)` edges,
    :math:`\mathrm{round}(h m)` are drawn without replacement from the pairs of nodes of one class, the others from the
    pairs of two classes. So the homophily is off by rounding alone, at most :math:`1 / 2m`. The features of node
    :math:`v` are :math:`s \, \mu_{y_v} + \varepsilon_v`: a random unit vector for each class, standard normal noise.

    Args:
        num_nodes: Number of nodes; classes are as equal in size as they can be, and their nodes in random order.
        num_classes: Number of classes.
        homophily: Share of edges within a class, in [0, 1].
        average_degree: Average number of neighbors.
        num_features: Number of features.
        signal: The length :math:`s` of a class mean. 0: features are noise; 4: they nearly suffice on their own.
        seed: Starts the generator.

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
        raise ValueError(f"{num_nodes} nodes cannot make {num_classes} classes: pass at least one node for each")
    if not (np.isfinite(average_degree) and average_degree > 0):
        raise ValueError(f"average_degree must be positive, not {average_degree!r}: pass the mean number of neighbors")
    if not (np.isfinite(signal) and signal >= 0):
        raise ValueError(f"signal must not be negative, not {signal!r}: pass 0 for features of pure noise")
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
    """New labels for a graph, and how they came about.

    Attributes:
        labels: Class indices, int64 ``[num_nodes]``.
        homophily: Their edge homophily.
        reassigned: How many labels were drawn; a node may have been drawn more than once, or been given its old one.
    """

    labels: np.ndarray
    homophily: float
    reassigned: int


def relabeled(graph: Graph, labels: Any, homophily: float, seed: int = 0, tolerance: float = 0.005) -> Relabeling:
    """Labels reassigned at random, node after node, until the graph has the edge homophily asked for.

    Nodes come in a random order, and each gets a class drawn from those that occur. This leads from the homophily of
    the graph toward that of random labels, one over the number of classes, and little beyond: other targets are
    refused. With one seed, a target further on starts with the labels of a nearer one.

    Args:
        graph: The graph.
        labels: Its class indices ``[num_nodes]``; where they are -1 they stay so.
        homophily: The target.
        seed: Starts the generator.
        tolerance: How close is close enough; the default is the paper's two decimals.

    Raises:
        ValueError: No random labels came close enough; the message has the closest.
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
            break  # past the target: the rest of the way only leads further from it
    if best is None:
        raise ValueError(
            f"random labels do not reach a homophily of {homophily:g} on this graph, the closest was {closest:.4f}: "
            f"they lead from its own, {edge_homophily(graph, labels):.4f}, to about {1 / len(classes):.4f}; pass a "
            "target between"
        )
    return best


def cora_relabeled(dataset: NodeDataset, homophily: float, seed: int = 0) -> NodeDataset:
    """The paper's graph G_s: structure and classes of a data set, Cora in the paper, labels reassigned by
    :func:`relabeled`, and a random one-hot vector in 100 dimensions for the features of each node.

    Args:
        dataset: Lends its graph and its labels.
        homophily: The target; the paper's are :data:`G_S_HOMOPHILY`.
        seed: Starts the generator.
    """
    relabeling = relabeled(dataset.graph, dataset.labels, homophily, seed)
    return NodeDataset(
        name=f"{dataset.name}-relabeled",
        graph=dataset.graph,
        # Another stream than that of the labels, so that features do not depend on the target.
        features=_random_one_hot(np.random.RandomState([seed, 1]), dataset.graph.num_nodes),
        labels=torch.from_numpy(relabeling.labels),
        class_names=dataset.class_names,
        source=f"graph of {dataset.name}, {relabeling.reassigned} labels reassigned with seed {seed}, "
        f"homophily {relabeling.homophily:.4f}",
    )


def binary_tree(depth: int = 7, seed: int = 0) -> NodeDataset:
    """The paper's graph G_B: a complete binary tree with a random class of three for the label of each node, and a
    random one-hot vector in 100 dimensions for its features.

    Args:
        depth: Number of levels; 7 make 127 nodes. Node 0 is the root, the children of i are 2i + 1 and 2i + 2.
        seed: Starts the generator.
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
    """Node and new label, in a random order of all nodes and then in another."""
    for _ in range(_PASSES):
        yield from zip(rng.permutation(nodes), rng.choice(classes, len(nodes)), strict=True)


def _random_one_hot(rng: np.random.RandomState, num_nodes: int) -> torch.Tensor:
    ones = torch.from_numpy(rng.randint(_PAPER_FEATURES, size=num_nodes, dtype=np.int64))
    return torch.nn.functional.one_hot(ones, _PAPER_FEATURES).float()


def _count_edges(graph: Graph, labels: np.ndarray) -> tuple[int, int]:
    """Edges with known labels at both ends, and how many of them agree."""
    homophily = edge_homophily(graph, labels)  # refuses a graph without such edges
    ends = labels[graph.edges()[0].cpu().numpy()]
    num_edges = int((ends >= 0).all(axis=0).sum())
    return num_edges, round(homophily * num_edges)


def _draw_pairs(
    rng: np.random.RandomState, blocks: list[tuple[np.ndarray, np.ndarray]], count: int, where: str, direction: str
) -> np.ndarray:
    """``count`` distinct pairs ``[2, count]``, uniformly from blocks: both nodes from one set, or one from each of two.

    Pairs are numbered through all blocks, so that no list of them is ever made.
    """
    sizes = [len(a) * (len(a) - 1) // 2 if a is b else len(a) * len(b) for a, b in blocks]
    end = np.cumsum(np.array(sizes, dtype=np.int64))
    available = int(end[-1]) if blocks else 0
    if count > available:
        raise ValueError(
            f"{count} edges {where} are asked for, but there are only {available} such pairs of nodes: pass a "
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
    # Where the number is long, rounding takes the last pairs of one j for the first of the next.
    j -= j * (j - 1) // 2 > number
    return number - j * (j - 1) // 2, j


def _draw_distinct(rng: np.random.RandomState, population: int, count: int) -> np.ndarray:
    """``count`` distinct numbers below ``population``; the generator's own ``choice`` would list the population."""
    if 2 * count > population:
        return np.setdiff1d(np.arange(population), _draw_distinct(rng, population, population - count))
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < count:
        more = rng.randint(population, size=2 * (count - len(drawn)), dtype=np.int64)
        drawn = np.concatenate([drawn, more])
        drawn = drawn[np.sort(np.unique(drawn, return_index=True)[1])]  # the first of each, in the order drawn
    return drawn[:count]
