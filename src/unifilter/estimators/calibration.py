"""Calibration of trained models: a temperature and conformal scores from the validation nodes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from unifilter.evaluation import conformal_scores, fit_temperature, fit_temperature_binary
from unifilter.training import Task

# The quantiles of more scores hardly differ, so model files store at most this many.
_MOST_SCORES = 5000


@dataclass(frozen=True, eq=False)
class Calibration:
    """Calibration of a model on the validation nodes.

    The validation nodes were also used to select the epoch and any open settings, so calibration is slightly optimistic
    if they are few.

    Attributes:
        temperature: Divisor of the logits before they become probabilities; above 1 if the model was overconfident.
        scores: Sorted scores of the validation nodes, for prediction sets and intervals: 1 minus the probability of the
            true class, or the absolute error in regression. Empty if not available.
    """

    temperature: float = 1.0
    scores: np.ndarray = field(default_factory=lambda: np.empty(0))

    def probabilities(self, logits: Tensor, task: str = "classification") -> np.ndarray:
        """Probability of each class, or of each label in multilabel classification."""
        scaled = logits.double() / self.temperature
        found = torch.softmax(scaled, dim=1) if task == "classification" else torch.sigmoid(scaled)
        return np.asarray(found.to(logits.dtype).numpy())


def calibrate(task: Task, outputs: Tensor, nodes: np.ndarray) -> Calibration:
    """Calibrate on the outputs for the validation nodes.

    Args:
        task: The task with its targets, on the CPU.
        outputs: Outputs for all nodes, on the CPU.
        nodes: The validation nodes.
    """
    rows, chosen = outputs[nodes], torch.as_tensor(nodes)
    if task.name == "regression":
        errors = (task.predicted(rows) - task.targets[chosen]).abs().numpy()  # type: ignore[attr-defined]
        # Only for a single target: several targets would need scores for each.
        scores = errors[:, 0][~np.isnan(errors[:, 0])] if errors.shape[1] == 1 else np.empty(0)
        return Calibration(1.0, _thinned(scores))
    targets, logits = task.targets[chosen].numpy(), rows.double().numpy()
    if task.name == "multilabel":
        return Calibration(fit_temperature_binary(logits, targets))
    found = Calibration(fit_temperature(logits, targets, _relative(task, chosen)))
    return Calibration(found.temperature, _thinned(conformal_scores(found.probabilities(rows), targets)))


def _relative(task: Task, nodes: Tensor) -> np.ndarray | None:
    """Weights of nodes relative to their mean, so that their scale does not matter. Weights of 0 are ignored."""
    if task.weights is None:
        return None
    weights = task.weights[nodes].numpy()
    return np.asarray(weights / weights[weights > 0].mean())


def _thinned(scores: np.ndarray) -> np.ndarray:
    """Sorted scores; evenly spaced ones if there are very many."""
    ordered = np.sort(scores)
    if len(ordered) <= _MOST_SCORES:
        return ordered
    # Rounded up, so that thinning makes no set smaller (for alpha up to 0.5).
    positions = np.ceil(np.linspace(0, len(ordered) - 1, _MOST_SCORES)).astype(np.int64)
    return ordered[positions]
