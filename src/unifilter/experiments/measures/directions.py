"""Vectors of both bases of one real signal, in three dimensions: what Figure 1 draws."""

from __future__ import annotations

from typing import Any

import torch

from unifilter.bases import make_basis
from unifilter.experiments.engine.cells import Cell
from unifilter.factorization import factorize
from unifilter.graph import edge_homophily
from unifilter.methods import Workspace


def measure_directions(workspace: Workspace, cell: Cell) -> dict[str, Any]:
    r"""Directions of :math:`P^k x`, and the vectors :math:`u_0, u_1, u_2` that Algorithm 1 builds.

    The signal is the feature column that most nodes have. :math:`u_0, u_1, u_2` lie in the space of the first three
    Lanczos vectors, so their coordinates are exact. The directions of :math:`P^k x` are shown in the three dimensions
    that hold most of them (the first singular vectors), with the share of their squared length that these hold.
    """
    dataset, hops = workspace.dataset, cell.settings["hops"]
    features = workspace.features(cell.settings["features"])
    dense = features.to_dense() if features.layout != torch.strided else features
    column = int((dense != 0).sum(dim=0).argmax())
    fact = factorize(workspace.graph(), dense[:, [column]].double(), hops)
    homophily = edge_homophily(dataset.graph, dataset.labels)

    smooth = fact.coefficients(make_basis("homophily"))[:, :, 0]
    smooth = smooth / smooth.norm(dim=1, keepdim=True)
    _, sizes, axes = torch.linalg.svd(smooth, full_matrices=False)
    inner = (smooth[:-1] * smooth[1:]).sum(dim=1).clamp(-1, 1)
    built = fact.coefficients(make_basis("heterophily", homophily=homophily))[:3, :3, 0]
    return {
        "column": column,
        "homophily": homophily,
        "dimension": int(fact.dimension[0]),
        "smooth": (smooth @ axes[:3].T).tolist(),
        "held": float((sizes[:3] ** 2).sum() / (sizes**2).sum()),
        "angles": torch.rad2deg(torch.arccos(inner)).tolist(),
        "built": built.tolist(),
        "inner": (built @ built.T).tolist(),
    }
