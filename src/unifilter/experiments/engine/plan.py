"""Plans the cells of an experiment with their keys. Unavailable data is reported and left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from unifilter.datasets import DatasetNotFoundError
from unifilter.experiments.engine.cells import Cell, identity_of, key_of
from unifilter.experiments.engine.experiment import Experiment, Options
from unifilter.experiments.engine.sources import Facts, Sources, full_rule
from unifilter.experiments.measures import version_of


@dataclass(frozen=True)
class PlannedCell:
    """A cell ready to run, with the full name of its split rule."""

    cell: Cell
    identity: dict[str, Any]
    key: str


@dataclass
class Plan:
    """The cells of an experiment.

    Attributes:
        experiment: The experiment.
        cells: The cells in running order, grouped by data set.
        checksums: Checksums of the data.
        left_out: What cannot be measured, and why.
    """

    experiment: Experiment
    cells: list[PlannedCell] = field(default_factory=list)
    checksums: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


class Planner:
    """Plans experiments. Each data set is loaded only once.

    Args:
        sources: The data.
        options: The part to run.
    """

    def __init__(self, sources: Sources, options: Options) -> None:
        self.sources, self.options = sources, options
        self._facts: dict[str, Facts | DatasetNotFoundError] = {}

    def plan(self, experiment: Experiment, alone: bool) -> Plan:
        """The cells of an experiment.

        Args:
            experiment: The experiment.
            alone: Whether it is the only experiment. One of several runs only those of the requested data sets that are
                its own, possibly none.
        """
        plan = Plan(experiment)
        for dataset in self._datasets(experiment, alone):
            for source in experiment.sources_of(dataset):
                facts = self._facts_of(source)
                if isinstance(facts, DatasetNotFoundError):
                    plan.left_out.append(f"{source}: {str(facts).splitlines()[0]}")
                    continue
                cells = experiment.cells(source, facts, self.options)
                if not cells:
                    plan.left_out.append(f"{source}: none of the requested methods and splits")
                    continue
                plan.checksums[source] = facts.checksum
                plan.cells += [_planned(cell, facts) for cell in cells]
        if alone and not plan.cells:
            raise ValueError(f"there is nothing to run for {experiment.name}: {'; '.join(plan.left_out)}")
        return plan

    def _datasets(self, experiment: Experiment, alone: bool) -> tuple[str, ...]:
        asked = self.options.datasets
        if asked is None:
            return experiment.datasets
        own = tuple(name for name in asked if name in experiment.datasets)
        if not alone:
            return own
        if len(own) < len(asked) and not experiment.open_to_others:
            other = next(name for name in asked if name not in own)
            raise ValueError(f"{experiment.name} uses {', '.join(experiment.datasets)}, not {other!r}: drop it")
        return asked

    def _facts_of(self, source: str) -> Facts | DatasetNotFoundError:
        if source not in self._facts:
            try:
                self._facts[source] = self.sources.facts(source)
            except DatasetNotFoundError as error:
                self._facts[source] = error
        return self._facts[source]


def _planned(cell: Cell, facts: Facts) -> PlannedCell:
    split = full_rule(cell.split, facts) if cell.split else ""
    cell = Cell(cell.measure, cell.dataset, cell.at, split, cell.index, cell.method, cell.settings)
    identity = identity_of(cell, facts.checksum, split, version_of(cell))
    return PlannedCell(cell, identity, key_of(identity))
