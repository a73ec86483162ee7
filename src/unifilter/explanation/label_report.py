"""Label statistics of a graph: homophily by every measure, and the frequencies of the labels."""

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
    """Statistics of one class.

    Attributes:
        name: Name of the class.
        nodes: Number of nodes.
        homophily: Share of the edges at its nodes that lead to its nodes; ``None`` if it has no edges.
        frequency: Frequency (Definition 2.2) of its centered indicator.
    """

    name: str
    nodes: int
    homophily: float | None
    frequency: float


@dataclass(frozen=True, eq=False)
class LabelReport:
    """Statistics of the labels.

    Attributes:
        edge, node, class_, adjusted: Homophily by the four measures; ``None`` if undefined.
        classes: Statistics of each class.
        energy: Distribution of the energy of the labels.
        frequency: Frequency (Definition 2.2) of the labels, averaged over the classes.
    """

    edge: float | None
    node: float | None
    class_: float | None
    adjusted: float | None
    classes: tuple[ClassReport, ...]
    energy: EnergyShare
    frequency: float


def report_labels(graph: Graph, labels: np.ndarray, names: tuple[str, ...], hops: int) -> LabelReport | None:
    """Compute the report, or ``None`` if there are fewer than two classes.

    The signal of a class is its indicator on the nodes with a known label, minus its mean there, and 0 elsewhere.
    Without subtracting the mean, the energy of large classes would be at the lowest frequency for any edges.

    Args:
        graph: The graph.
        labels: Class indices, -1 if unknown.
        names: Class names. A class without a name is named by its index.
        hops: Number of Lanczos steps.
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
