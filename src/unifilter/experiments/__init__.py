"""The paper's tables and figures as experiments. To add one, write its file and list it in ``EXPERIMENTS`` below."""

from __future__ import annotations

from unifilter.experiments.engine.experiment import Experiment, Options
from unifilter.experiments.engine.sources import Sources
from unifilter.experiments.paper.figure_basis import FigureBasis
from unifilter.experiments.paper.figure_homophily import FigureHomophily
from unifilter.experiments.paper.figure_smoothing import FigureSmoothing
from unifilter.experiments.paper.figure_spectrum import FigureSpectrum
from unifilter.experiments.paper.figure_squashing import FigureSquashing
from unifilter.experiments.paper.figure_tau import FigureTau
from unifilter.experiments.paper.table_auto import TableAuto
from unifilter.experiments.paper.table_beyond import TableBeyond
from unifilter.experiments.paper.table_estimate import TableEstimate
from unifilter.experiments.paper.table_estimate_share import TableEstimateShare
from unifilter.experiments.paper.table_formulations import TableFormulations, TableFormulations48
from unifilter.experiments.paper.table_large import TableLarge
from unifilter.experiments.paper.table_models import TableModels
from unifilter.experiments.paper.table_polynomial import TablePolynomial
from unifilter.experiments.paper.table_scaling import TableScaling
from unifilter.experiments.paper.table_sensitivity import TableSensitivity
from unifilter.experiments.paper.table_shared import TableShared
from unifilter.experiments.paper.table_variants import TableVariants, TableVariants48
from unifilter.experiments.paper.theorems import Theorems

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        TablePolynomial(),
        TableModels(),
        TableLarge(),
        FigureBasis(),
        FigureSpectrum(),
        FigureHomophily(),
        FigureTau(),
        TableEstimate(),
        TableEstimateShare(),
        TableSensitivity(),
        FigureSmoothing(),
        FigureSquashing(),
        Theorems(),
        TableScaling(),
        TableFormulations(),
        TableFormulations48(),
        TableVariants(),
        TableVariants48(),
        TableShared(),
        TableBeyond(),
        TableAuto(),
    )
}


def find_experiments(name: str) -> list[Experiment]:
    """Look up one experiment by name, or all of them."""
    if name == "all":
        return list(EXPERIMENTS.values())
    if name not in EXPERIMENTS:
        raise ValueError(f"there is no experiment {name!r}: choose all, or one of {', '.join(EXPERIMENTS)}")
    return [EXPERIMENTS[name]]


__all__ = ["EXPERIMENTS", "Experiment", "Options", "Sources", "find_experiments"]
