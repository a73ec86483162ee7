"""What an edge list was like before it became a graph."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EdgeFacts:
    """What was given, and what was done to it.

    Attributes:
        given: Edges listed, each direction counted.
        one_directional: Edges listed in one direction only, to which the other was added.
        duplicates: Listed edges that repeat another one in the same direction, and were merged with it.
        self_loops: Listed edges from a node to itself, which were dropped.
        weighted: Whether weights were given that make some edge count other than 1.
    """

    given: int
    one_directional: int
    duplicates: int
    self_loops: int
    weighted: bool
