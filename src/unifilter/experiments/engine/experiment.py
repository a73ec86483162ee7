"""Base class of experiments: the cells they need, and the presentation of the results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unifilter._internal.extras import require
from unifilter.experiments.engine.cells import Cell, method_cell
from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.engine.sources import Facts, number_of_splits
from unifilter.experiments.show.presentation import Presentation
from unifilter.experiments.show.reported import reported
from unifilter.methods import METHODS

# The graphs of the main tables, in the paper's order.
SIX_GRAPHS = ("cora", "citeseer", "pubmed", "actor", "chameleon", "squirrel")


@dataclass(frozen=True)
class Options:
    """Which part of an experiment to run.

    Attributes:
        datasets: Data sets to run instead of those of the experiment.
        methods: Names of the methods to run. Default: all.
        splits: Maximum number of splits.
        epochs: Maximum number of epochs, for a trial run.
        trials: Number of tuning trials per split, for experiments that tune every method; ``None`` for the default.
    """

    datasets: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    splits: int = 10
    epochs: int | None = None
    trials: int | None = None

    def __post_init__(self) -> None:
        for name in self.methods or ():
            if name not in METHODS:
                raise ValueError(f"there is no method {name!r}: choose from {', '.join(METHODS)}")
            METHODS[name].check_installed()
        if self.trials is not None:
            require("tune", what="tuning every method")

    def wants(self, method: str) -> bool:
        return self.methods is None or method in self.methods

    @property
    def changes(self) -> dict[str, Any]:
        """Settings applied to every trained method."""
        return {} if self.epochs is None else {"epochs": self.epochs}


class Experiment(ABC):
    """One table or figure, in a small file.

    A subclass lists its data sets, the cells it needs, and the presentation of their rows. A shared runner does the
    rest. Rows are returned with the ``at`` of their cell.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    place: ClassVar[str] = "not in the paper"
    datasets: ClassVar[tuple[str, ...]]
    # Whether other data sets can be requested.
    open_to_others: ClassVar[bool] = True

    @abstractmethod
    def cells(self, dataset: str, facts: Facts, options: Options) -> list[Cell]:
        """The cells of one data set."""

    @abstractmethod
    def present(self, rows: Sequence[Row]) -> Presentation:
        """Present the available rows: all, some or none."""

    def methods(self) -> Sequence[str]:
        """Methods to check before data is loaded, because they may need an extra."""
        return ()

    def sources_of(self, dataset: str) -> tuple[str, ...]:
        """The data used for a data set: itself, or data derived from it."""
        return (dataset,)

    @property
    def reported(self) -> dict[str, Any]:
        return reported(self.name)


def split_indices(rule: str, facts: Facts, options: Options) -> range:
    """Indices of the splits to run."""
    return range(min(options.splits, number_of_splits(rule, facts)))


def trained(
    method: str,
    dataset: str,
    facts: Facts,
    options: Options,
    rule: str,
    at: dict[str, Any],
    *,
    changes: dict[str, Any] | None = None,
    preset: str | None = None,
) -> list[Cell]:
    """Cells that train a method on every requested split; empty if the method was not requested."""
    if not options.wants(method):
        return []
    all_changes = {**(changes or {}), **options.changes}
    return [
        method_cell(method, dataset, facts.metric, at, rule, index, all_changes, preset)
        for index in split_indices(rule, facts, options)
    ]


def method_of(label: str) -> str | None:
    """The method for a label of the paper, such as ``"GPR-GNN"``; ``None`` if there is none.

    Spelling is ignored, and the name of a method may lack a final ``GNN``, so that methods added later are found. Plus
    signs are compared if they distinguish two methods.
    """
    wanted = _letters(label)
    found = [name for name in METHODS if _letters(name) in (wanted, wanted.removesuffix("gnn"))]
    alike = [name for name in found if name.count("+") == label.count("+")]
    return next(iter([*alike, *found]), None)


def _letters(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())
