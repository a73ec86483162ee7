"""An experiment with its presentation and rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from unifilter.experiments.engine.experiment import Experiment
from unifilter.experiments.engine.row_files import Row
from unifilter.experiments.show.presentation import Presentation


class Shown(NamedTuple):
    """An experiment, its presentation, and its rows."""

    experiment: Experiment
    presentation: Presentation
    rows: Sequence[Row]

    @property
    def compared(self) -> bool:
        """Whether the paper has this table or figure and reports numbers for it."""
        return self.presentation.tally.reported > 0 and self.experiment.place != Experiment.place
