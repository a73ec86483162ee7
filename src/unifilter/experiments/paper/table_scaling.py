"""Beyond the paper: which feature scaling and formulation its figure of frequencies was made with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from unifilter.experiments.engine.cells import Cell
from unifilter.experiments.engine.experiment import SIX_GRAPHS, Experiment, Options
from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.engine.sources import Facts
from unifilter.experiments.show.pictures import draw_comparison
from unifilter.experiments.show.presentation import Presentation, collect, comparison
from unifilter.experiments.show.reported import reported
from unifilter.methods.uni_filter import UniFilterMethod

_SCALINGS, _FORMULATIONS, _HOPS = ("raw", "row", "l2"), ("paper", "released"), 10


class TableScaling(Experiment):
    """Frequencies of the basis for each scaling and formulation at the published tau, beside those of Figure 2."""

    name: ClassVar[str] = "table-scaling"
    title: ClassVar[str] = "How the paper's features were scaled, by the frequencies it prints"
    datasets: ClassVar[tuple[str, ...]] = SIX_GRAPHS
    open_to_others: ClassVar[bool] = False

    def cells(self, dataset: str, facts: Facts, options: Options) -> list[Cell]:
        tau = UniFilterMethod.presets[dataset]["tau"]
        return [
            Cell(
                "frequencies",
                dataset,
                {"row": f"{scaling}, {formulation}", "column": dataset},
                settings={"features": scaling, "formulation": formulation, "hops": _HOPS, "tau": tau},
            )
            for scaling in _SCALINGS
            for formulation in _FORMULATIONS
        ]

    def present(self, rows: Sequence[Row]) -> Presentation:
        table = comparison(
            "mean distance of eleven frequencies from those of Figure 2",
            collect(rows, ("row", "column"), _distance),
            {},
            [f"{scaling}, {formulation}" for scaling in _SCALINGS for formulation in _FORMULATIONS],
            self.datasets,
            digits=3,
            corner="features, formulation",
            over=None,
        )
        closest = []
        for dataset in table.columns:
            found = {row: table.entry(row, dataset).mean for row in table.rows if table.entry(row, dataset).values}
            if found:
                best = min(found, key=lambda row: found[row])
                closest.append(f"{dataset} {best} ({found[best]:.3f})")
        notes = [
            "The paper does not say how features were scaled, and its code reads files that were not published. Its "
            "Figure 2 prints frequencies of the basis, which depend on the scaling: those that come closest say what "
            "was probably used. Frequencies lie in [0, 1]; the figure's are halved, to Definition 2.2.",
            f"Closest: {', '.join(closest)}.",
        ]
        return Presentation([table], notes=notes, draw=lambda: draw_comparison(table, "mean distance"))


def _distance(row: Row) -> float:
    points: Any = reported("figure-spectrum")[row["dataset"]]
    return float(np.abs(np.array(row["outcome"]["frequencies"]) - np.array(points)[:, 0] / 2).mean())
