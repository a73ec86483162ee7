"""Facts about an edge list before it became a graph."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EdgeFacts:
    """Facts about the edges passed in, and how they were changed.

    Attributes:
        given: Number of edges listed, each direction counted.
        one_directional: Edges listed in one direction only; the other direction was added.
        duplicates: Listed edges that repeat another one in the same direction, and were merged with it.
        self_loops: Listed edges from a node to itself, which were dropped.
        weighted: Whether some edge has a weight other than 1.
    """

    given: int
    one_directional: int
    duplicates: int
    self_loops: int
    weighted: bool
