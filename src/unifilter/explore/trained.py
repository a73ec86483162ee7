"""What is kept of a trained method: its scores, its filter, and an explanation where its basis has one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from unifilter.datasets import Split
from unifilter.explanation import SpectralExplanation, explain
from unifilter.explanation.curves import GRID
from unifilter.explanation.trained import universal_parameters
from unifilter.explanation.typical_response import typical_response
from unifilter.methods import Fitted, Workspace
from unifilter.methods.uni_filter import UniFilterMethod
from unifilter.runs.record import record_of


@dataclass(frozen=True, eq=False)
class Trained:
    """One method on one split.

    Attributes:
        number: Which of all that were trained, from 1.
        record: See :func:`unifilter.runs.record.record_of`.
        response: The learned filter at the eigenvalues of the page, median over the channels; ``None`` for a method
            without a filter.
        explanation: For the filters that are on the universal basis or a corner of it.
    """

    number: int
    record: dict[str, Any]
    response: np.ndarray | None
    explanation: SpectralExplanation | None

    def to_dict(self) -> dict[str, Any]:
        """For the page; ``None`` where a number is not one."""
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
        }


def keep(number: int, fitted: Fitted, workspace: Workspace, split: Split) -> Trained:
    """Everything but the model itself."""
    return Trained(
        number,
        record_of(fitted, workspace.dataset, split),
        typical_response(fitted, workspace, GRID),
        _explanation(fitted, workspace),
    )


def finite(value: float) -> float | None:
    """JSON has no word for what is not a number."""
    return value if math.isfinite(value) else None


def _weights(fitted: Fitted) -> torch.Tensor:
    """Of one split: ``[hops + 1]``, or ``[1, hops + 1, channels]`` where every channel has its own."""
    weights: torch.Tensor = fitted.learner.model.weights  # type: ignore[assignment]
    return weights.detach() if weights.ndim == 1 else weights.detach()[None]


def _explanation(fitted: Fitted, workspace: Workspace) -> SpectralExplanation | None:
    method, facts = fitted.method, fitted.learner.facts
    if not isinstance(method, UniFilterMethod):
        return None
    settings, dataset = method.settings(), workspace.dataset
    tau, homophily = universal_parameters(settings, facts["tau"], facts["homophily"])
    explanation = explain(
        workspace.factorization(method.features, method.hops, method.self_loops),
        graph=workspace.graph(method.self_loops),
        labels=dataset.labels,
        tau=tau,
        homophily=homophily,
        weights=_weights(fitted),
        name=f"{dataset.name}, {method.name}",
        class_names=dataset.class_names,
    )
    return replace(explanation, homophily_from="of the model")
