"""Options that several commands share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from unifilter.methods import Preset, find_method

PresetOption = Annotated[
    Preset,
    typer.Option(
        help="Hyperparameters to start from: published for this data set, tuned by us, or the defaults (none)."
    ),
]
DataDir = Annotated[
    Path | None,
    typer.Option(help="Data directory. Default: $UNIFILTER_DATA, or the user's cache folder."),
]
Device = Annotated[str, typer.Option(help="Where to compute, such as cpu, cuda or cuda:1.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="Set any hyperparameter, as name=value. Repeatable."),
]


def check_methods(names: str) -> None:
    """Refuses unknown methods, and those whose extra is not installed, before any data is loaded."""
    for name in filter(None, map(str.strip, names.split(","))):
        find_method(name).check_installed()


def parse_settings(pairs: list[str] | None) -> dict[str, Any]:
    """``name=value`` pairs; a value is read as JSON (0.5, true, null) and otherwise taken as text."""
    settings: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise ValueError(f"--set takes name=value, not {pair!r}: for instance --set dropout=0.5")
        try:
            settings[name] = json.loads(text)
        except json.JSONDecodeError:
            settings[name] = text
    return settings
