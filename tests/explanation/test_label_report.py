from __future__ import annotations

import numpy as np
import pytest
import torch

from unifilter import Graph, adjusted_homophily, class_homophily, edge_homophily, node_homophily, signal_frequency
from unifilter.explanation.label_report import LabelReport, report_labels

CYCLE = Graph.from_edges(torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]]), num_nodes=7)


def report(labels: list[int], names: tuple[str, ...] = ()) -> LabelReport:
    found = report_labels(CYCLE, np.array(labels), names, hops=6)
    assert found is not None
    return found


def test_measures_are_the_library_s() -> None:
    labels = [0, 0, 0, 1, 1, 1, 1]
    found = report(labels)
    for value, measure in (
        (found.edge, edge_homophily),
        (found.node, node_homophily),
        (found.class_, class_homophily),
        (found.adjusted, adjusted_homophily),
    ):
        assert value == measure(CYCLE, torch.tensor(labels))


def test_classes_one_by_one() -> None:
    found = report([0, 0, 0, 1, 1, -1, 3], names=("red", "green"))
    # Edges with two known ends: 0-1 and 1-2 inside red, 2-3 across, 3-4 inside green; node 6 has no edge.
    assert [(one.name, one.nodes, one.homophily) for one in found.classes] == [
        ("red", 3, pytest.approx(4 / 5)),
        ("green", 2, pytest.approx(2 / 3)),
        ("3", 1, None),
    ]


def test_class_signals_are_centered_and_zero_where_unknown() -> None:
    red = np.array([0.5, 0.5, 0.5, -0.5, -0.5, 0.0, -0.5])
    found = report([0, 0, 0, 1, 1, -1, 1])
    assert found.classes[0].frequency == pytest.approx(float(signal_frequency(CYCLE, red)))
    assert found.frequency == pytest.approx(np.mean([one.frequency for one in found.classes]))


def test_alternating_labels_are_at_the_highest_frequency() -> None:
    ring = Graph.from_edges(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
    found = report_labels(ring, np.array([0, 1, 0, 1]), (), hops=4)
    assert found is not None
    assert found.frequency == pytest.approx(1)
    assert found.energy.share[-2] == pytest.approx(0, abs=1e-9)
    assert (found.edge, found.adjusted) == (0, -1)


def test_labels_without_edges_have_no_homophily() -> None:
    found = report_labels(Graph.from_edges(np.zeros((2, 0), dtype=int), num_nodes=3), np.array([0, 1, 1]), (), hops=2)
    assert found is not None
    assert (found.edge, found.node, found.class_, found.adjusted) == (None, None, None, None)


@pytest.mark.parametrize("labels", [[-1] * 7, [2] * 6 + [-1]])
def test_one_class_is_no_labeling(labels: list[int]) -> None:
    assert report_labels(CYCLE, np.array(labels), (), hops=4) is None
