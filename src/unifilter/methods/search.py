"""The search space of `unifilter tune`: the same values for every method, for a fair comparison at equal budget.

UniFilter has its own values, the search space of its paper.
"""

from __future__ import annotations

from typing import Any

DROPOUTS: tuple[Any, ...] = tuple(k / 10 for k in range(10))
RATES: tuple[Any, ...] = (0.001, 0.005, 0.01, 0.05, 0.1)
DECAYS: tuple[Any, ...] = (0.0, 5e-5, 5e-4, 5e-3)
WIDTHS: tuple[Any, ...] = (64, 128, 256)

# Values for a network that is trained by gradient.
NETWORK: dict[str, tuple[Any, ...]] = {
    "features": ("raw", "row", "l2"),
    "hidden_channels": WIDTHS,
    "dropout": DROPOUTS,
    "lr": RATES,
    "weight_decay": DECAYS,
}
# Values for a network that filters the output of an MLP.
DECOUPLED: dict[str, tuple[Any, ...]] = {**NETWORK, "filter_dropout": DROPOUTS}
