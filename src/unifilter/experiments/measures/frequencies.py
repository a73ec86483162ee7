"""Frequencies of a basis, without training."""

from __future__ import annotations

from typing import Any

from unifilter.bases import make_basis
from unifilter.experiments.engine.cells import Cell
from unifilter.graph import edge_homophily
from unifilter.methods import Workspace


def measure_frequencies(workspace: Workspace, cell: Cell) -> dict[str, Any]:
    """Frequency (Definition 2.2) of each vector of UniBasis, averaged over the nonzero features."""
    settings, dataset = cell.settings, workspace.dataset
    homophily = edge_homophily(dataset.graph, dataset.labels)
    fact = workspace.factorization(settings["features"], settings["hops"])
    basis = make_basis("uni", tau=settings["tau"], homophily=homophily, formulation=settings["formulation"])
    return {
        "frequencies": fact.frequencies(basis)[:, fact.norm > 0].mean(dim=1).tolist(),
        "homophily": homophily,
    }
