"""Rules that detect notable results in the numbers of a report, for its sentences and its advice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

# A class is rare below this fraction of an even share of the nodes: below 20 % for two classes.
_RARE = 0.4
# A gap between confidence and accuracy that matters when acting on probabilities.
_GAP = 0.05

Class = Mapping[str, Any]


def never_found(report: Mapping[str, Any]) -> list[Class]:
    """Classes with test nodes, none of which was predicted correctly."""
    return [one for one in report["classes"] if one["support"] and one["recall"] == 0]


def rare_classes(report: Mapping[str, Any]) -> list[Class]:
    """Classes with far less than an even share of the test nodes, the rarest first."""
    classes = report["classes"]
    total = sum(one["support"] for one in classes)
    rare = [one for one in classes if 0 < one["support"] < _RARE * total / len(classes)]
    return sorted(rare, key=lambda one: float(one["support"]))


def overconfidence(report: Mapping[str, Any]) -> tuple[float, float] | None:
    """Mean confidence and accuracy, if the model is clearly overconfident."""
    bins = report["calibration"]["bins"] if report["calibration"] else []
    nodes = sum(one["count"] for one in bins)
    if not nodes:
        return None
    confidence, accuracy = (
        sum(one["count"] * one[name] for one in bins) / nodes for name in ("confidence", "accuracy")
    )
    # Splits share test nodes, so the number of nodes in one split determines the standard error.
    error = math.sqrt(accuracy * (1 - accuracy) / max(report["split"]["test"], 1))
    return (confidence, accuracy) if confidence - accuracy > max(_GAP, 2 * error) else None


def low_frequency_share(report: Mapping[str, Any]) -> tuple[float, bool] | None:
    """Share of the absolute weights on the lower half of the frequencies, and whether splits agree on it.

    Splits agree if the two halves differ by more than the weights vary between splits.
    """
    spectrum = report["spectrum"]
    if spectrum is None or not spectrum["frequency"]:
        return None
    frequency, sizes = spectrum["frequency"], [abs(weight) for weight in spectrum["weight"]]
    middle = (min(frequency) + max(frequency)) / 2
    low = sum(size for size, at in zip(sizes, frequency, strict=True) if at < middle)
    total = sum(sizes)
    if min(frequency) == max(frequency) or total == 0:
        return None
    spread = math.sqrt(sum(one**2 for one in spectrum["weight_spread"] or []))
    return low / total, abs(2 * low - total) > spread
