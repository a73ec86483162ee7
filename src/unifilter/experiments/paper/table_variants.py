"""Beyond the paper: UniFilter and its three variants on the six graphs, in both split settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from unifilter.experiments.engine.experiment import SIX_GRAPHS
from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.show.presentation import Presentation, comparison, differences
from unifilter.experiments.show.reported import reported
from unifilter.experiments.show.tables import AccuracyTable, Contender

_UNIFILTER, _VARIANTS = "UniFilter", ("HomFilter", "HetFilter", "OrtFilter")


class TableVariants(AccuracyTable):
    """The same settings, those published for UniFilter, on four bases."""

    name: ClassVar[str] = "table-variants"
    title: ClassVar[str] = "UniFilter and its variants, random 60/20/20 splits"
    datasets: ClassVar[tuple[str, ...]] = SIX_GRAPHS
    rule = "60"
    reported_in: ClassVar[str] = "table-polynomial"

    def contenders(self) -> Mapping[str, Contender]:
        return {label: Contender(label.lower()) for label in (_UNIFILTER, *_VARIANTS)}

    def figures(self) -> Mapping[str, Mapping[str, Any]]:
        # For the variants the paper shows only graphs derived from Cora.
        return {_UNIFILTER: reported(self.reported_in)[_UNIFILTER]}

    def present(self, rows: Sequence[Row]) -> Presentation:
        presentation = super().present(rows)
        above: dict[tuple[str, ...], list[float]] = {
            (label, dataset): points
            for label in _VARIANTS
            for dataset, points in differences(rows, label, _UNIFILTER).items()
        }
        title = "points above UniFilter on the same split"
        presentation.tables.append(comparison(title, above, {}, _VARIANTS, self.datasets, corner="method"))
        return presentation


class TableVariants48(TableVariants):
    """The same on the 48/32/20 masks."""

    name: ClassVar[str] = "table-variants-48"
    title: ClassVar[str] = "UniFilter and its variants, the ten 48/32/20 masks"
    rule = "48"
    reported_in: ClassVar[str] = "table-models"
