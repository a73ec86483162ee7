"""Small graphs whose classes show in features and edges, for tests of methods."""

from __future__ import annotations

import numpy as np
import torch

from unifilter import Graph
from unifilter.data import NodeDataset
from unifilter.methods import Problem, Workspace

CLASSES = 3


def planted_problem(num_nodes: int = 48, seed: int = 0) -> Problem:
    """Words and neighbors tell the class; half of the nodes are for training, a quarter for validation."""
    random = np.random.default_rng(seed)
    labels = np.arange(num_nodes) % CLASSES
    words = random.random((num_nodes, 4 * CLASSES)) < np.where(
        np.arange(4 * CLASSES) % CLASSES == labels[:, None], 0.6, 0.1
    )
    pairs = random.integers(0, num_nodes, size=(2, 12 * num_nodes))
    same = labels[pairs[0]] == labels[pairs[1]]
    edges = pairs[:, same | (random.random(len(same)) < 0.1)][:, : 4 * num_nodes]
    return problem_of(Graph.from_edges(edges, num_nodes=num_nodes), words, labels)


def awkward_problem() -> Problem:
    """Two components and four isolated nodes; a node without a word, a word without a node."""
    random = np.random.default_rng(1)
    half, nodes = 18, 40
    parts = [random.integers(0, half, size=(2, 60)) + start for start in (0, half)]
    words = random.random((nodes, 9)) < 0.4
    words[5], words[:, 3] = False, False
    return problem_of(
        Graph.from_edges(np.concatenate(parts, axis=1), num_nodes=nodes), words, np.arange(nodes) % CLASSES
    )


def problem_of(graph: Graph, words: np.ndarray, labels: np.ndarray) -> Problem:
    nodes = graph.num_nodes
    dataset = NodeDataset("planted", graph, torch.from_numpy(words.astype(np.float32)), torch.from_numpy(labels))
    order = np.random.default_rng(2).permutation(nodes)
    return Problem(Workspace(dataset), np.sort(order[: nodes // 2]), np.sort(order[nodes // 2 : 3 * nodes // 4]))


def held_out(problem: Problem) -> torch.Tensor:
    used = np.concatenate([problem.train, problem.val])
    return torch.from_numpy(np.setdiff1d(np.arange(problem.dataset.num_nodes), used))
