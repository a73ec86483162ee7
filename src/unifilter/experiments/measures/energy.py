"""Dirichlet energy of UniBasis at each hop, from one Gram matrix per channel."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from unifilter.bases import make_basis
from unifilter.experiments.engine.cells import Cell
from unifilter.factorization import Factorization, factorize
from unifilter.graph import Graph, edge_homophily
from unifilter.methods import Workspace

# Maximum number of entries in the vectors of a block of columns, 256 MB in float64.
_BLOCK = 2**25


def measure_energy(workspace: Workspace, cell: Cell) -> dict[str, Any]:
    r"""The energy :math:`E(\mathbf{X}^k)`, :math:`\mathbf{X}^k = \tau \mathbf{P}^k \mathbf{X} + (1-\tau) \mathbf{U}_k`,
    for every k and tau.

    Columns of X are first divided by their norm, so that both parts have the same scale, as the rotation in Theorem 5.2
    requires. The energy of any combination of the Lanczos vectors is a quadratic form on their Gram matrix with the
    combinatorial Laplacian, so all values of tau share the computations of size n.
    """
    settings, graph = cell.settings, workspace.graph()
    columns = unit_columns(workspace, settings)
    homophily = edge_homophily(workspace.dataset.graph, workspace.dataset.labels)
    hops: int = settings["hops"]
    energies = torch.zeros(len(settings["taus"]), hops + 1, dtype=torch.float64)
    width = max(1, _BLOCK // ((hops + 1) * graph.num_nodes))
    for begin in range(0, columns.shape[1], width):
        fact = factorize(graph, columns[:, begin : begin + width], hops)
        gram = _dirichlet_gram(graph, fact)
        for tau, total in zip(settings["taus"], energies, strict=True):
            rows = fact.coefficients(make_basis("uni", tau=tau, homophily=homophily))
            total += torch.einsum("kic,cij,kjc->k", rows, gram, rows)
    # u_0 is the unit column for any tau.
    return {
        "homophily": homophily,
        "channels": columns.shape[1],
        "start": float(energies[0, 0]),
        "energies": [[float(f"{value:.6g}") for value in row] for row in energies.tolist()],
    }


def unit_columns(workspace: Workspace, settings: Any) -> Tensor:
    """Nonzero feature columns scaled to norm 1, float64; an evenly spaced selection of at most ``channels``."""
    features = workspace.features(settings["features"]).double()
    length = torch.linalg.vector_norm(features, dim=0)
    there = torch.nonzero(length > 0).flatten()
    if settings.get("channels") and len(there) > settings["channels"]:
        there = there[torch.linspace(0, len(there) - 1, settings["channels"]).round().long()]
    unit: Tensor = features[:, there] / length[there]
    return unit


def _dirichlet_gram(graph: Graph, fact: Factorization) -> Tensor:
    """``(2 / n) V^T (D - A) V`` for every channel, ``[channels, hops + 1, hops + 1]``."""
    adjacency, degree = graph.adjacency(torch.float64), graph.degree.double()[:, None]
    rough = torch.stack([degree * vectors - adjacency @ vectors for vectors in fact.vectors])
    # Contiguous per channel, to avoid strided products.
    smooth, rough = (array.permute(2, 0, 1).contiguous() for array in (fact.vectors, rough))
    return smooth @ rough.transpose(1, 2) * (2 / graph.num_nodes)
