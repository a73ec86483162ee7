"""Probabilities that can be believed: a temperature and conformal scores, both from the validation nodes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from unifilter.evaluation import conformal_scores, fit_temperature, fit_temperature_binary
from unifilter.training import Task

# The quantiles of more scores than this hardly differ; a model file need not hold them all.
_MOST_SCORES = 5000


@dataclass(frozen=True, eq=False)
class Calibration:
    """What the validation nodes say about how sure a model may be.

    They also chose the epoch, and the settings that were left open, so both are a little optimistic where they are few.

    Attributes:
        temperature: Logits are divided by it before they become probabilities: above 1 where the model was too sure.
        scores: Of the validation nodes, in ascending order: one minus the probability of the true class, or the size
            of the error of a number; what prediction sets and intervals are made from. Empty where there are none.
    """

    temperature: float = 1.0
    scores: np.ndarray = field(default_factory=lambda: np.empty(0))

    def probabilities(self, logits: Tensor, task: str = "classification") -> np.ndarray:
        """Of each class, or of each label where a node can have several."""
        scaled = logits.double() / self.temperature
        found = torch.softmax(scaled, dim=1) if task == "classification" else torch.sigmoid(scaled)
        return np.asarray(found.to(logits.dtype).numpy())


def calibrate(task: Task, outputs: Tensor, nodes: np.ndarray) -> Calibration:
    """From the outputs for validation nodes.

    Args:
        task: The known answers, on the CPU.
        outputs: Of all nodes, on the CPU.
        nodes: The validation nodes.
    """
    rows, chosen = outputs[nodes], torch.as_tensor(nodes)
    if task.name == "regression":
        errors = (task.predicted(rows) - task.targets[chosen]).abs().numpy()  # type: ignore[attr-defined]
        # One target: an interval for each of several would need a score for each.
        scores = errors[:, 0][~np.isnan(errors[:, 0])] if errors.shape[1] == 1 else np.empty(0)
        return Calibration(1.0, _thinned(scores))
    targets, logits = task.targets[chosen].numpy(), rows.double().numpy()
    if task.name == "multilabel":
        return Calibration(fit_temperature_binary(logits, targets))
    found = Calibration(fit_temperature(logits, targets, _relative(task, chosen)))
    return Calibration(found.temperature, _thinned(conformal_scores(found.probabilities(rows), targets)))


def _relative(task: Task, nodes: Tensor) -> np.ndarray | None:
    """Weights of nodes as multiples of their mean, so that their unit does not matter; those of 0 are left out."""
    if task.weights is None:
        return None
    weights = task.weights[nodes].numpy()
    return np.asarray(weights / weights[weights > 0].mean())


def _thinned(scores: np.ndarray) -> np.ndarray:
    """In ascending order; of very many, evenly spaced ones."""
    ordered = np.sort(scores)
    if len(ordered) <= _MOST_SCORES:
        return ordered
    # The upper of each pair of neighbors, so that thinning makes no set smaller (for alpha up to a half).
    positions = np.ceil(np.linspace(0, len(ordered) - 1, _MOST_SCORES)).astype(np.int64)
    return ordered[positions]
