"""What `unifilter tune` chooses among: the same values for every method, so that one budget buys each of them the same.

UniFilter's own are those that its paper searched.
"""

from __future__ import annotations

from typing import Any

DROPOUTS: tuple[Any, ...] = tuple(k / 10 for k in range(10))
RATES: tuple[Any, ...] = (0.001, 0.005, 0.01, 0.05, 0.1)
DECAYS: tuple[Any, ...] = (0.0, 5e-5, 5e-4, 5e-3)
WIDTHS: tuple[Any, ...] = (64, 128, 256)

# Of a network that is trained by gradient.
NETWORK: dict[str, tuple[Any, ...]] = {
    "features": ("raw", "row", "l2"),
    "hidden_channels": WIDTHS,
    "dropout": DROPOUTS,
    "lr": RATES,
    "weight_decay": DECAYS,
}
# Of one that filters what an MLP gives.
DECOUPLED: dict[str, tuple[Any, ...]] = {**NETWORK, "filter_dropout": DROPOUTS}
