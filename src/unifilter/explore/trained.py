"""Training results: scores, filter, and an explanation if the method learns a filter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from unifilter.data import Split
from unifilter.estimators import Fitted
from unifilter.explanation import SpectralExplanation, explain
from unifilter.explanation.curves import GRID
from unifilter.methods import Workspace
from unifilter.runs import record_of, typical_response
from unifilter.runs.left_out import UNTESTED, UNVALIDATED


@dataclass(frozen=True, eq=False)
class Trained:
    """The result of one method on one split.

    Attributes:
        number: Number of the result, from 1.
        record: See :func:`unifilter.runs.record.record_of`.
        response: The learned filter at the eigenvalues of the page, median over the channels; ``None`` for a method
            without a filter.
        explanation: Explanation of a method that learns a filter, otherwise ``None``.
    """

    number: int
    record: dict[str, Any]
    response: np.ndarray | None
    explanation: SpectralExplanation | None

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON for the page. NaN becomes ``None``."""
        metric = self.record["settings"]["metric"]
        named = ("method", "split", "epochs", "ended", "seconds")
        return {
            "number": self.number,
            **{name: self.record[name] for name in named},
            "metric": metric,
            "test": finite(self.record.get(f"test_{metric}", math.nan)),
            "val": finite(self.record.get(f"val_{metric}", math.nan)),
            "response": None if self.response is None else [finite(value) for value in self.response.tolist()],
            "explained": self.explanation is not None,
            UNTESTED: self.record.get(UNTESTED, []),
            UNVALIDATED: self.record.get(UNVALIDATED, []),
        }


def keep(number: int, fitted: Fitted, workspace: Workspace, split: Split) -> Trained:
    """A training result without the model itself."""
    return Trained(
        number,
        record_of(fitted, workspace.dataset, split),
        typical_response(fitted.model, GRID),
        _explanation(fitted, workspace),
    )


def finite(value: float) -> float | None:
    """The value, or ``None`` for NaN and infinity, which JSON lacks."""
    return value if math.isfinite(value) else None


def _explanation(fitted: Fitted, workspace: Workspace) -> SpectralExplanation | None:
    """The explanation of a method that learns a filter, otherwise ``None``."""
    dataset, model = workspace.dataset, fitted.model
    if model.response(GRID) is None:
        return None
    return explain(model, dataset=dataset, name=f"{dataset.name}, {model.method.name}")
