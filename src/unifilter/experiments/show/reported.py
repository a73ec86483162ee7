"""The figures that the paper reports, shipped as data."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def reported_figures() -> dict[str, Any]:
    """Everything that is reported, by the name of the experiment, and the paper under ``"source"``."""
    figures: dict[str, Any] = json.loads((Path(__file__).parent / "reported.json").read_text(encoding="utf-8"))
    return figures


def reported(experiment: str) -> dict[str, Any]:
    """What is reported for one experiment; nothing for those that are not in the paper or print no values."""
    figures: dict[str, Any] = reported_figures().get(experiment, {})
    return figures
