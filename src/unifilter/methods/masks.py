"""Settings that were published for the 48/32/20 masks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Settings = Mapping[str, Any]
Presets = Mapping[str, Settings]


def for_masks(published: Presets, same: Settings, *, directed: bool = False) -> Presets:
    """Presets for the masks.

    Args:
        published: Settings per data set.
        same: Settings that all data sets share.
        directed: Whether the settings were published for directed graphs. If so, they also apply to the directed
            versions of Chameleon and Squirrel.
    """
    presets = {f"{name}/48": {**same, **settings} for name, settings in published.items()}
    if directed:
        presets |= {f"{name}-directed/48": presets[f"{name}/48"] for name in ("chameleon", "squirrel")}
    return presets
