"""Options that several commands share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from unifilter.data import Metric, NodeDataset
from unifilter.graph import Direction
from unifilter.methods import Method, Preset, find_method

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
SplitName = Annotated[
    str | None,
    typer.Option(
        help="Split: stratified, 60, 48, random-48-32-20 (any shares), or one that comes with the data. Default: the "
        "literature's for a named data set; else what comes with the data; else stratified."
    ),
]
AllowMissingClasses = Annotated[
    bool,
    typer.Option(
        "--allow-missing-classes",
        help="Train although a class has no training, validation or test node in a split; its scores are marked.",
    ),
]
MetricOption = Annotated[
    Metric | None,
    typer.Option(help="What is measured on the validation nodes and shown. Default: that of the data set."),
]
ClassWeight = Annotated[
    Literal["balanced"] | None,
    typer.Option(help="balanced: every class counts alike in the loss, however many nodes it has."),
]
DirectionOption = Annotated[
    Direction | None,
    typer.Option(
        help="Keep the direction of the edges in your files: a node hears from the nodes that it points to (out), or "
        "from those that point to it (in). Only for message passing, such as gcn. Default: undirected."
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(help="How much memory this process may take, such as 4GB."),
]
Store = Annotated[
    Path | None,
    typer.Option(
        help="Folder that keeps what exceeds the memory limit, for the next time. Default: deleted afterwards."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
TableFormat = Annotated[
    Literal["text", "markdown", "latex"],
    typer.Option("--format", help="How tables are printed: for a terminal, or to be pasted into a page or a paper."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="Set any hyperparameter, as name=value. Repeatable."),
]


def check_methods(names: str) -> None:
    """Refuses unknown methods, and those whose extra is not installed, before any data is loaded."""
    for name in filter(None, map(str.strip, names.split(","))):
        find_method(name).check_installed()


def build_method(name: str, dataset: NodeDataset, split: str | None, preset: Preset, changes: dict[str, Any]) -> Method:
    """A method for splits of a data set: published settings where it is a named one, and what the user changed."""
    if dataset.table is not None and "features" in changes:
        raise ValueError(
            f"--features scales arrays, and {dataset.name!r} is a table, whose columns are encoded by their kind: "
            "leave it out"
        )
    known = dataset.name if dataset.is_named else None
    rule = split or dataset.default_split
    settings = {"metric": dataset.metric, **changes}
    return find_method(name).preset(known, preset, split=rule, task=dataset.task, **settings)


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
