"""What the labels say about the graph: homophily by every measure, and the graph frequencies they live at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from unifilter.factorization import tridiagonals
from unifilter.factorization.energy import EnergyShare, energy_share
from unifilter.factorization.typical import with_signal
from unifilter.graph import Graph, adjusted_homophily, class_homophily, edge_homophily, node_homophily


@dataclass(frozen=True)
class ClassReport:
    """One class.

    Attributes:
        name: What it is called.
        nodes: How many nodes are of it.
        homophily: Share of the edges at its nodes that lead to its nodes; ``None`` where there are none.
        frequency: Definition 2.2 of its centered indicator.
    """

    name: str
    nodes: int
    homophily: float | None
    frequency: float


@dataclass(frozen=True, eq=False)
class LabelReport:
    """All that is read from the labels.

    Attributes:
        edge, node, class_, adjusted: Homophily by the four measures; ``None`` where one is not defined.
        classes: Class by class.
        energy: Where the energy of the labels lies.
        frequency: Definition 2.2 of the labels, mean over the classes.
    """

    edge: float | None
    node: float | None
    class_: float | None
    adjusted: float | None
    classes: tuple[ClassReport, ...]
    energy: EnergyShare
    frequency: float


def report_labels(graph: Graph, labels: np.ndarray, names: tuple[str, ...], hops: int) -> LabelReport | None:
    """The report, or ``None`` where fewer than two classes occur.

    The signal of a class is its indicator on the nodes with a known label, less its mean there, and 0 elsewhere:
    without the mean, large classes would put their energy at the lowest frequency whatever the edges are.

    Args:
        graph: The graph whose frequencies are meant.
        labels: Class indices, -1 where unknown.
        names: What the classes are called; those without a name are called by their index.
        hops: How many Lanczos steps.
    """
    known = labels >= 0
    present = np.unique(labels[known])
    if len(present) < 2:
        return None
    indicators = (labels[:, None] == present).astype(np.float64)
    signals = np.where(known[:, None], indicators - indicators[known].mean(axis=0), 0.0)
    tridiagonal, _ = with_signal(tridiagonals(graph, signals, hops))
    energy = energy_share(tridiagonal)
    homophily = _by_class(graph, labels, present)
    classes = tuple(
        ClassReport(
            names[index] if index < len(names) else str(index),
            int((labels == index).sum()),
            homophily[position],
            float(energy.frequency[position]),
        )
        for position, index in enumerate(present)
    )
    return LabelReport(
        edge=_where_defined(edge_homophily, graph, labels),
        node=_where_defined(node_homophily, graph, labels),
        class_=_where_defined(class_homophily, graph, labels),
        adjusted=_where_defined(adjusted_homophily, graph, labels),
        classes=classes,
        energy=energy,
        frequency=float(energy.frequency.mean()),
    )


def _by_class(graph: Graph, labels: np.ndarray, present: np.ndarray) -> list[float | None]:
    degree, inside = np.zeros((2, int(present.max()) + 1), dtype=np.int64)
    for block, _ in graph.edge_blocks():
        ends = labels[block.cpu().numpy()]
        ends = ends[:, (ends >= 0).all(axis=0)]
        degree += np.bincount(ends.ravel(), minlength=len(degree))
        inside += 2 * np.bincount(ends[0, ends[0] == ends[1]], minlength=len(degree))
    return [inside[index] / degree[index] if degree[index] else None for index in present]


def _where_defined(measure: Callable[[Graph, torch.Tensor], float], graph: Graph, labels: np.ndarray) -> float | None:
    try:
        return measure(graph, torch.from_numpy(labels))
    except ValueError:
        return None
