"""Beyond the paper: UniFilter and its three variants on the six graphs, in both split settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from unifilter.experiments.experiment import SIX_GRAPHS
from unifilter.experiments.reported import reported
from unifilter.experiments.tables import AccuracyTable, Contender


class TableVariants(AccuracyTable):
    """The same settings, those published for UniFilter, on four bases."""

    name: ClassVar[str] = "table-variants"
    title: ClassVar[str] = "UniFilter and its variants, random 60/20/20 splits"
    datasets: ClassVar[tuple[str, ...]] = SIX_GRAPHS
    rule = "60"
    reported_in: ClassVar[str] = "table-polynomial"

    def contenders(self) -> Mapping[str, Contender]:
        labels = ("UniFilter", "HomFilter", "HetFilter", "OrtFilter")
        return {label: Contender(label.lower()) for label in labels}

    def figures(self) -> Mapping[str, Mapping[str, Any]]:
        # Of the variants the paper shows a graph made of Cora's alone.
        return {"UniFilter": reported(self.reported_in)["UniFilter"]}


class TableVariants48(TableVariants):
    """The same on the 48/32/20 masks."""

    name: ClassVar[str] = "table-variants-48"
    title: ClassVar[str] = "UniFilter and its variants, the ten 48/32/20 masks"
    rule = "48"
    reported_in: ClassVar[str] = "table-models"
