"""What an experiment is: the cells it needs, and what it makes of their results."""

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
    """Which part of an experiment is run.

    Attributes:
        datasets: These instead of the experiment's own.
        methods: Only these, by the name of the method.
        splits: At most so many splits.
        epochs: At most so many epochs, for a trial run.
        trials: Where every method is tuned, so many settings are tried on each split; ``None`` keeps the defaults.
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
        """Settings that every trained method gets."""
        return {} if self.epochs is None else {"epochs": self.epochs}


class Experiment(ABC):
    """One table or figure: a small file each.

    A subclass names its data sets and says which cells it needs and how their rows are shown; a shared runner does the
    rest. Rows come back with the ``at`` of their cell.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    place: ClassVar[str] = "not in the paper"
    datasets: ClassVar[tuple[str, ...]]
    # Whether other data sets can be asked for.
    open_to_others: ClassVar[bool] = True

    @abstractmethod
    def cells(self, dataset: str, facts: Facts, options: Options) -> list[Cell]:
        """What is measured on one data set."""

    @abstractmethod
    def present(self, rows: Sequence[Row]) -> Presentation:
        """What is shown of the rows that are there: all, some or none."""

    def methods(self) -> Sequence[str]:
        """Methods that need to be named before data is loaded, for they may need an extra."""
        return ()

    def sources_of(self, dataset: str) -> tuple[str, ...]:
        """The data that stands for a data set: itself, or what is made of it."""
        return (dataset,)

    @property
    def reported(self) -> dict[str, Any]:
        return reported(self.name)


def split_indices(rule: str, facts: Facts, options: Options) -> range:
    """The splits that are run, by their numbers."""
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
    """Training a method on every split that is asked for; nothing where the method is not."""
    if not options.wants(method):
        return []
    all_changes = {**(changes or {}), **options.changes}
    return [
        method_cell(method, dataset, facts.metric, at, rule, index, all_changes, preset)
        for index in split_indices(rule, facts, options)
    ]


def method_of(label: str) -> str | None:
    """The method behind a label of the paper, such as ``"GPR-GNN"``; ``None`` where there is none yet.

    Spelling does not matter, and a method may leave out the ``GNN`` at the end: methods that come later are found. Plus
    signs do, where they tell two methods apart.
    """
    wanted = _letters(label)
    found = [name for name in METHODS if _letters(name) in (wanted, wanted.removesuffix("gnn"))]
    alike = [name for name in found if name.count("+") == label.count("+")]
    return next(iter([*alike, *found]), None)


def _letters(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())
