"""Table 2: UniFilter and methods that change the architecture, on six graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from unifilter.experiments.experiment import SIX_GRAPHS
from unifilter.experiments.tables import AccuracyTable, Contender


class TableModels(AccuracyTable):
    """Ten methods, six graphs, the ten 48/32/20 masks of Geom-GCN; reported figures alone where a method is missing."""

    name: ClassVar[str] = "table-models"
    title: ClassVar[str] = "Accuracy beside model-optimised methods"
    place: ClassVar[str] = "Table 2"
    datasets: ClassVar[tuple[str, ...]] = SIX_GRAPHS
    rule = "48"

    def contenders(self) -> Mapping[str, Contender]:
        return {**super().contenders(), "GCN": Contender("gcn", defaults_on=("citeseer",))}
