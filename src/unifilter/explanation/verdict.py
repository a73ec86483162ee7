"""Interpretation of an explanation in sentences."""

from __future__ import annotations

import numpy as np

from unifilter.explanation.label_report import LabelReport

# Labels unrelated to the edges have a frequency of 0.5. A larger difference counts as low or high.
_MARGIN = 0.05
# Edge homophily from here on claims that a graph is homophilous ...
_CLAIM = 0.5
# ... and adjusted homophily, 0 for edges that ignore the labels, from here on supports the claim.
_SUPPORT = 0.2


def verdict(
    labels: LabelReport | None,
    frequency: np.ndarray,
    weights: np.ndarray | None,
    weight_spread: np.ndarray | None,
    broken_down: int,
    zero_columns: int,
    channels: int,
) -> tuple[str, ...]:
    """Interpret the numbers in sentences, the most important first.

    Args:
        labels: Statistics of the labels, if there are any.
        frequency: Frequency of each basis vector, ``[hops + 1]``.
        weights: Learned weight of each hop, if there are any.
        weight_spread: Standard deviation of the weights over splits.
        broken_down: Number of channels that span fewer than ``hops + 1`` dimensions.
        zero_columns: Number of channels without a signal.
        channels: Number of channels.
    """
    sentences = []
    if labels is not None:
        sentences += [_on_labels(labels), *_on_measures(labels)]
    if weights is not None and weight_spread is not None:
        sentences.append(_on_weights(frequency, weights, weight_spread))
    sentences.append(_on_channels(broken_down, zero_columns, channels, len(frequency)))
    return tuple(sentences)


def _on_labels(labels: LabelReport) -> str:
    value = f"(frequency {labels.frequency:.2f}, where 0.50 is chance)"
    if labels.frequency < 0.5 - _MARGIN:
        return f"Labels sit at low frequencies {value}: homophilous."
    if labels.frequency > 0.5 + _MARGIN:
        return f"Labels sit at high frequencies {value}: heterophilous."
    return f"Labels are spread over all frequencies {value}: neighbors say little about them on the whole."


def _on_measures(labels: LabelReport) -> list[str]:
    if labels.edge is None or labels.adjusted is None:
        return []
    edge, adjusted = f"{labels.edge:.2f}", f"{round(labels.adjusted, 2) + 0.0:.2f}"  # no -0.00
    both = f"Edge homophily {edge} but adjusted {adjusted}: do not trust the edge measure here"
    if labels.edge >= _CLAIM and labels.adjusted < _SUPPORT:
        return [f"{both}, unbalanced classes raise it."]
    if labels.edge < _CLAIM and labels.adjusted >= _SUPPORT:
        return [f"{both}, edges join one class far more often than by chance."]
    return [f"Edge homophily {edge} and adjusted {adjusted} tell the same story."]


def _on_weights(frequency: np.ndarray, weights: np.ndarray, spread: np.ndarray) -> str:
    """Compare the weights at the lower and the upper half of the frequencies of the basis."""
    middle = (frequency.min() + frequency.max()) / 2
    low = frequency < middle
    if not low.any() or low.all():
        return "All basis vectors have the same frequency, so the weights select none."
    low_weight, high_weight = float(weights[low].sum()), float(weights[~low].sum())
    if low_weight < 0 < high_weight:
        part, said = low, "The low-frequency part is removed by negative weights"
    elif high_weight < 0 < low_weight:
        part, said = ~low, "The high-frequency part is removed by negative weights"
    else:
        share = abs(low_weight) / (abs(low_weight) + abs(high_weight) or 1.0)
        said = f"Both halves of the spectrum are kept, {100 * share:.0f} % of the weight on the low-frequency half"
        part = low
    unsure = abs(float(weights[part].sum())) < float(np.sqrt((spread[part] ** 2).sum()))
    return said + (", but the weights differ more than that from split to split." if unsure else ".")


def _on_channels(broken_down: int, zero_columns: int, channels: int, length: int) -> str:
    parts = []
    if broken_down:
        parts.append(f"{broken_down:,} of {channels:,} channels span fewer than {length} dimensions")
    if zero_columns:
        verb = "has no signal and is" if zero_columns == 1 else "have no signal and are"
        parts.append(f"{zero_columns:,} of {channels:,} {verb} left out")
    return ("; ".join(parts) if parts else f"Every one of the {channels:,} channels spans {length} dimensions") + "."
