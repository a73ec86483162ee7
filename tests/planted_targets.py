"""Small graphs with something to predict that is not one class per node, for tests of estimators."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from unifilter import Graph


class Planted(NamedTuple):
    """A graph, features, and the answers for all nodes."""

    graph: Graph
    x: np.ndarray
    y: np.ndarray


def random_graph(num_nodes: int, random: np.random.Generator) -> Graph:
    return Graph.from_edges(random.integers(0, num_nodes, size=(2, 2 * num_nodes)), num_nodes=num_nodes)


def planted_numbers(num_nodes: int = 200, sign: int = 1, seed: int = 0, noise: float = 1.0) -> Planted:
    """A sum of filtered features. Features alone explain about half of it."""
    random = np.random.default_rng(seed)
    graph, x = random_graph(num_nodes, random), random.standard_normal((num_nodes, 5))
    y = 50 + 20 * _filtered(graph, x, sign) @ [1.0, -1.0, 2.0, 0.5, 0.0] + noise * random.standard_normal(num_nodes)
    return Planted(graph, x, y)


def planted_labels(num_nodes: int = 200, seed: int = 0) -> Planted:
    """Three labels, where a filtered feature is large; the third is rare."""
    random = np.random.default_rng(seed)
    graph, x = random_graph(num_nodes, random), random.standard_normal((num_nodes, 5))
    return Planted(graph, x, (_filtered(graph, x, 1)[:, :3] > [0.0, 0.0, 2.0]).astype(np.float64))


def _filtered(graph: Graph, x: np.ndarray, sign: int) -> np.ndarray:
    """By (1 + sign mu)^2, with mu the eigenvalue of P: low-pass for a positive sign, high-pass for a negative one."""
    once = graph.propagate(torch.from_numpy(x))
    return x + 2 * sign * once.numpy() + graph.propagate(once).numpy()


def every_other(num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Half of the nodes to learn from, the others to be asked for."""
    return np.arange(0, num_nodes, 2), np.arange(1, num_nodes, 2)
