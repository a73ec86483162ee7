"""The results reported in the paper, shipped as data."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def reported_figures() -> dict[str, Any]:
    """All reported results by experiment, with the paper under ``"source"``."""
    figures: dict[str, Any] = json.loads((Path(__file__).parent / "reported.json").read_text(encoding="utf-8"))
    return figures


def reported(experiment: str) -> dict[str, Any]:
    """Reported results of one experiment; empty if it is not in the paper or the paper prints no values."""
    figures: dict[str, Any] = reported_figures().get(experiment, {})
    return figures
