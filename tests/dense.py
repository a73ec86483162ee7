"""The paper's objects by the most direct route: dense matrices, double precision, full Gram-Schmidt."""

from __future__ import annotations

import numpy as np
import torch

from unifilter import Graph


def propagation_matrix(graph: Graph) -> np.ndarray:
    adjacency = graph.adjacency(torch.float64).to_dense().numpy()
    degree = adjacency.sum(axis=1)
    root = np.zeros_like(degree)
    root[degree > 0] = degree[degree > 0] ** -0.5
    return root[:, None] * adjacency * root


def orthonormal_vectors(matrix: np.ndarray, x: np.ndarray, hops: int) -> np.ndarray:
    """``v_0 .. v_hops`` by Gram-Schmidt on every vector before, ``[hops + 1, n]``."""
    vectors = [x / np.linalg.norm(x)]
    for _ in range(hops):
        following = matrix @ vectors[-1]
        for _ in range(2):
            for vector in vectors:
                following = following - (following @ vector) * vector
        vectors.append(following / np.linalg.norm(following))
    return np.stack(vectors)


def algorithm_1(vectors: np.ndarray, homophily: float) -> np.ndarray:
    """The heterophily basis as the paper's Algorithm 1 writes it; divides by cos(theta), so homophily > 0."""
    cosine = np.cos((1 - homophily) * np.pi / 2)
    basis = [vectors[0]]
    for k in range(1, len(vectors)):
        total = np.sum(basis, axis=0)
        t = np.sqrt((total @ basis[-1] / (k * cosine)) ** 2 - ((k - 1) * cosine + 1) / k)
        following = total / k + t * vectors[k]
        basis.append(following / np.linalg.norm(following))
    return np.stack(basis)
