"""The filters of a portfolio: the filter of each member, and their weighted mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unifilter.estimators import TrainedModel
from unifilter.explanation.curves import GRID
from unifilter.runs import response_quartiles


@dataclass(frozen=True, eq=False)
class MemberFilter:
    """A member of a portfolio.

    Attributes:
        name: Name of the member.
        weight: Weight in the mixture; the weights of all members sum to 1.
        response: Quartiles over channels of its frequency response ``[3, eigenvalues]``, the mean over folds; ``None``
            without a learned filter.
        hop_weights: Learned hop weights, the mean over folds, if any.
    """

    name: str
    weight: float
    response: np.ndarray | None
    hop_weights: np.ndarray | None

    def to_dict(self) -> dict[str, Any]:
        """The member as JSON values, without weights per channel."""
        hop_weights = self.hop_weights
        return {
            "name": self.name,
            "weight": self.weight,
            "response": None if self.response is None else self.response[1].tolist(),
            "hop_weights": hop_weights.tolist() if hop_weights is not None and hop_weights.ndim == 1 else None,
        }


def member_filters(model: TrainedModel) -> tuple[MemberFilter, ...]:
    """The filter of every member, sorted by weight, the largest first. Networks of several folds are averaged."""
    networks: dict[str, list[tuple[float, TrainedModel]]] = {}
    for name, weight, network in model.members:
        networks.setdefault(name, []).append((weight, network))
    found = []
    for name, ones in networks.items():
        responses = [response_quartiles(network, GRID) for _, network in ones]
        weights = [network.weights for _, network in ones]
        found.append(
            MemberFilter(
                name,
                sum(weight for weight, _ in ones),
                _mean([one for one in responses if one is not None]),
                _mean([one.numpy() for one in weights if one is not None]),
            )
        )
    return tuple(sorted(found, key=lambda one: -one.weight))


def _mean(arrays: Sequence[np.ndarray]) -> np.ndarray | None:
    return np.asarray(np.mean(arrays, axis=0)) if arrays else None


def whole_response(members: Sequence[MemberFilter]) -> np.ndarray | None:
    """The weighted mean of the members' responses ``[3, eigenvalues]``, each scaled to a maximum of 1.

    Later layers undo the scale of a filter, so only shapes can be compared. ``None`` if no member learns a filter.
    """
    known = [(one.weight, one.response) for one in members if one.response is not None]
    if not known:
        return None
    scaled = [response / max(float(np.abs(response[1]).max()), 1e-12) for _, response in known]
    whole: np.ndarray = np.average(scaled, axis=0, weights=[weight for weight, _ in known])
    return whole


def said_of_members(members: Sequence[MemberFilter]) -> str:
    """A sentence with the weights of the members."""
    counted = ", ".join(f"{one.name} {one.weight:.0%}" for one in members)
    without = sum(one.weight for one in members if one.response is None)
    said = f"The prediction is a weighted mean: {counted}."
    if without > 0:
        said += f" The response shown is that of the filters; {without:.0%} of the weight is on members without one."
    return said
