"""Table 1: UniFilter and eleven other polynomial filters on six graphs."""

from __future__ import annotations

from typing import ClassVar

from unifilter.experiments.engine.experiment import SIX_GRAPHS
from unifilter.experiments.show.tables import AccuracyTable


class TablePolynomial(AccuracyTable):
    """Twelve methods, six graphs, ten random 60/20/20 splits."""

    name: ClassVar[str] = "table-polynomial"
    title: ClassVar[str] = "Accuracy beside other polynomial filters"
    place: ClassVar[str] = "Table 1"
    datasets: ClassVar[tuple[str, ...]] = SIX_GRAPHS
    rule = "60"
