"""Normalization of hidden layers by name."""

from __future__ import annotations

from typing import Literal

from torch import nn

from unifilter._internal.checks import check_choice

Norm = Literal["none", "batch", "layer"]


def make_norm(norm: Norm, channels: int) -> nn.Module:
    """``"batch"`` normalizes over nodes, ``"layer"`` over channels, ``"none"`` not at all."""
    check_choice("norm", norm, ("none", "batch", "layer"))
    if norm == "batch":
        return nn.BatchNorm1d(channels)
    return nn.LayerNorm(channels) if norm == "layer" else nn.Identity()
