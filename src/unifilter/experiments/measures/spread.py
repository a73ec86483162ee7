"""How far the channels of a shared factorization are from their mean."""

from __future__ import annotations

from typing import Any

from unifilter.experiments.engine.cells import Cell
from unifilter.factorization import factorize
from unifilter.graph import edge_homophily
from unifilter.methods import Workspace


def measure_spread(workspace: Workspace, cell: Cell) -> dict[str, Any]:
    """The spread of the channels' tridiagonals, and their angles at the homophily of all labels."""
    settings, dataset = cell.settings, workspace.dataset
    homophily = edge_homophily(dataset.graph, dataset.labels)
    x = workspace.features(settings["features"])
    fact = factorize(workspace.graph(), x, settings["hops"], channels="shared", sketch=settings["sketch"])
    found = fact.diagnostics(homophily)
    return {
        "spread": found.spread,
        "expected_angle": found.expected_angle,
        "channel_angle": float(found.channel_angle.mean()),
        "channel_angle_std": float(found.channel_angle.std(correction=0)),
        "angle_error": found.angle_error,
        "homophily": homophily,
    }
