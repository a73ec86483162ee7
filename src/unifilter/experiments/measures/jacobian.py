"""Influence of a node's signal on other nodes by distance, as in Theorem 5.3."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.sparse.csgraph import shortest_path
from torch import Tensor

from unifilter.bases.heterophily import cosine_of_angle, heterophily_coefficients
from unifilter.experiments.engine.cells import Cell
from unifilter.graph import edge_homophily
from unifilter.methods import Workspace


def measure_jacobian(workspace: Workspace, cell: Cell) -> dict[str, Any]:
    r"""The mean of :math:`|\partial z^{(k)}_u / \partial x_v|` over pairs of nodes at distance k, for each k and tau.

    :math:`z^{(k)} = \tau \mathbf{P}^k x + (1-\tau) u_k` is differentiated exactly: :math:`u_k` depends on the graph and
    on x through the Lanczos vectors. The mean is also over random normal signals x of norm 1, because a one-hot column
    of the tree spans few dimensions.
    """
    settings, graph = cell.settings, workspace.graph()
    propagation = graph.propagation_matrix(torch.float64).to_dense()
    distance = torch.from_numpy(shortest_path(graph.adjacency().to_dense().numpy(), unweighted=True))
    homophily = edge_homophily(workspace.dataset.graph, workspace.dataset.labels)
    signals = np.random.RandomState(0).standard_normal((settings["signals"], graph.num_nodes))
    means = torch.zeros(len(settings["taus"]), len(settings["hops"]), dtype=torch.float64)
    for signal in signals:
        x = torch.from_numpy(signal / np.linalg.norm(signal))
        for column, hop in enumerate(settings["hops"]):
            smooth, rotated = _jacobians(propagation, x, hop, cosine_of_angle(homophily))
            pairs = distance == hop
            for row, tau in enumerate(settings["taus"]):
                means[row, column] += (tau * smooth + (1 - tau) * rotated)[pairs].abs().mean() / len(signals)
    return {"homophily": homophily, "means": means.tolist()}


def _jacobians(propagation: Tensor, x: Tensor, hop: int, cosine: float) -> tuple[Tensor, Tensor]:
    """Derivatives of ``P^k x`` and of ``u_k`` with respect to x, ``[n, n]`` each."""
    row = heterophily_coefficients(torch.tensor(cosine, dtype=x.dtype), hop)[hop]

    def rotated(signal: Tensor) -> Tensor:
        return row @ _lanczos_vectors(propagation, signal, hop)

    jacobian: Tensor = torch.autograd.functional.jacobian(rotated, x, vectorize=True)  # type: ignore[no-untyped-call]
    return torch.linalg.matrix_power(propagation, hop), jacobian


def _lanczos_vectors(propagation: Tensor, x: Tensor, hops: int) -> Tensor:
    """Orthonormal ``v_0 .. v_hops`` of one signal, differentiable, in plain torch."""
    vectors = [x / x.norm()]
    for _ in range(hops):
        following = propagation @ vectors[-1]
        for earlier in vectors[:-3:-1]:
            following = following - (following @ earlier) * earlier
        vectors.append(following / following.norm())
    return torch.stack(vectors)
