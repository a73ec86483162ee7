"""Beyond the paper: polynomials of each feature column beside one recurrence for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from unifilter._internal.plain import plain
from unifilter.experiments.engine.cells import Cell
from unifilter.experiments.engine.experiment import SIX_GRAPHS, Options, split_indices
from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.engine.sources import Facts
from unifilter.experiments.show.presentation import Presentation, Table, collect, comparison, differences
from unifilter.experiments.show.tables import AccuracyTable, Contender
from unifilter.methods import find_method

_METHOD = "unifilter"
_EACH, _SHARED, _SHARED_ROWS = "each column", "shared", "shared, rows before training"
_EACH_DEFAULT, _SHARED_DEFAULT = "each column, defaults", "shared, defaults"
_EACH_TUNED, _SHARED_TUNED = "each column, tuned alike", "shared, tuned alike"
_PAIRS = ((_SHARED, _EACH), (_SHARED_ROWS, _EACH), (_SHARED_DEFAULT, _EACH_DEFAULT), (_SHARED_TUNED, _EACH_TUNED))
# Graphs that come with splits of their own.
_WITH_SPLITS = ("chameleon-filtered", "squirrel-filtered", "minesweeper")
# How many columns of a recurrence are taken, and of which features.
_SPREAD = {"features": "row", "hops": 10, "sketch": 32}


class TableShared(AccuracyTable):
    """UniFilter with both forms of the basis: with the published settings, which were found for the first, with the
    defaults, and with ``trials`` after the same number of trials on the validation nodes.
    """

    name: ClassVar[str] = "table-shared"
    title: ClassVar[str] = "UniFilter with a recurrence for each column, and with one for all"
    datasets: ClassVar[tuple[str, ...]] = (*SIX_GRAPHS, "texas", *_WITH_SPLITS)
    rule = "60"

    def contenders(self) -> Mapping[str, Contender]:
        return {
            _EACH: Contender(_METHOD, only_on=SIX_GRAPHS),
            _SHARED: Contender(_METHOD, {"channels": "shared"}, only_on=SIX_GRAPHS),
            _SHARED_ROWS: Contender(_METHOD, {"channels": "shared", "precompute": True}, only_on=SIX_GRAPHS),
            _EACH_DEFAULT: Contender(_METHOD, settings="default"),
            _SHARED_DEFAULT: Contender(_METHOD, {"channels": "shared"}, settings="default"),
        }

    def figures(self) -> Mapping[str, Mapping[str, object]]:
        return {}

    def rule_of(self, dataset: str) -> str:
        return "official" if dataset in _WITH_SPLITS else self.rule

    def cells(self, dataset: str, facts: Facts, options: Options) -> list[Cell]:
        at = {"row": "spread of the columns", "column": dataset}
        spread = Cell("spread", dataset, at, settings=_SPREAD)
        if options.trials is None:
            return [spread, *super().cells(dataset, facts, options)]
        return [spread, *self._tuned(dataset, facts, options)]

    def _tuned(self, dataset: str, facts: Facts, options: Options) -> list[Cell]:
        """The same search for both."""
        if not options.wants(_METHOD):
            return []
        rule = self.rule_of(dataset)
        settings = {"metric": facts.metric, "trials": options.trials, **options.changes}
        settings["space"] = plain(find_method(_METHOD).search_space)
        return [
            Cell("tuned", dataset, {"row": label, "column": dataset}, rule, index, _METHOD, {**settings, **changes})
            for label, changes in ((_EACH_TUNED, {}), (_SHARED_TUNED, {"channels": "shared"}))
            for index in split_indices(rule, facts, options)
        ]

    def present(self, rows: Sequence[Row]) -> Presentation:
        trained = [row for row in rows if row["measure"] != "spread"]
        presentation = super().present(trained)
        above: dict[tuple[str, ...], list[float]] = {
            (label, dataset): points
            for label, base in _PAIRS
            for dataset, points in differences(trained, label, base).items()
        }
        title = "points above the recurrence of each column on the same split"
        labels = [label for label, _ in _PAIRS]
        presentation.tables.append(comparison(title, above, {}, labels, self.datasets, corner="form"))
        spreads = [row for row in rows if row["measure"] == "spread"]
        if spreads:
            presentation.tables.append(self._spreads(spreads))
        return presentation

    def _spreads(self, rows: Sequence[Row]) -> Table:
        """What might decide between the two."""
        names = {
            "spread of the columns' tridiagonals": "spread",
            "mean angle of a column, degrees": "channel_angle",
            "its deviation over columns": "channel_angle_std",
            "angle of the mean, degrees": "expected_angle",
        }
        measured: dict[tuple[str, ...], list[float]] = {}
        for title, name in names.items():
            for (column,), values in collect(rows, ("column",), lambda row, name=name: row["outcome"][name]).items():  # type: ignore[misc]
                measured[title, column] = values
        return comparison(
            "how far columns are from their mean", measured, {}, list(names), self.datasets, corner="measure", over=None
        )
