"""The measurements of cells. To add one, write its function and list it in ``MEASURES`` below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from unifilter.experiments.engine.cells import Cell
from unifilter.experiments.measures.directions import measure_directions
from unifilter.experiments.measures.energy import measure_energy
from unifilter.experiments.measures.estimate import measure_estimate
from unifilter.experiments.measures.frequencies import measure_frequencies
from unifilter.experiments.measures.jacobian import measure_jacobian
from unifilter.experiments.measures.spread import measure_spread
from unifilter.experiments.measures.theorems import measure_basis, measure_pivot
from unifilter.experiments.measures.train import measure_training, measure_tuned_training
from unifilter.methods import Workspace, find_method


class Measure(NamedTuple):
    """A measurement. Its version is raised when the same settings give different results than before."""

    function: Callable[[Workspace, Cell], dict[str, Any]]
    version: int = 1


MEASURES: dict[str, Measure] = {
    "train": Measure(measure_training),
    "tuned": Measure(measure_tuned_training),
    "estimate": Measure(measure_estimate),
    "energy": Measure(measure_energy),
    "frequencies": Measure(measure_frequencies),
    "directions": Measure(measure_directions),
    "jacobian": Measure(measure_jacobian),
    "spread": Measure(measure_spread),
    "basis": Measure(measure_basis),
    "pivot": Measure(measure_pivot),
}


def version_of(cell: Cell) -> int:
    """The version that a cell's result depends on: that of the method if one is trained, else of the measurement."""
    return find_method(cell.method).version if cell.method else MEASURES[cell.measure].version


__all__ = ["MEASURES", "Measure", "version_of"]
