"""Options that several commands share."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from unifilter.data import Metric, NodeDataset
from unifilter.graph import Direction
from unifilter.methods import Method, Preset, find_method

PresetOption = Annotated[
    Preset,
    typer.Option(help="Initial hyperparameters: published for this data set, tuned by us, or the defaults (none)."),
]
DataDir = Annotated[
    Path | None,
    typer.Option(help="Data directory. Default: $UNIFILTER_DATA, or the user's cache folder."),
]
Device = Annotated[str, typer.Option(help="Device to compute on, such as cpu, cuda or cuda:1.")]
SplitName = Annotated[
    str | None,
    typer.Option(
        help="Split: stratified, 60, 48, random-48-32-20 (any percentages), or one that comes with the data. Default: "
        "the split of the literature for a named data set; otherwise one that comes with the data, or stratified."
    ),
]
AllowMissingClasses = Annotated[
    bool,
    typer.Option(
        "--allow-missing-classes",
        help="Train although a class has no training, validation or test node in a split. Marks the scores affected.",
    ),
]
MetricOption = Annotated[
    Metric | None,
    typer.Option(help="Score to select the model by and to report. Default: that of the data set."),
]
ClassWeight = Annotated[
    Literal["balanced"] | None,
    typer.Option(help="balanced: give every class the same weight in the loss, however many nodes it has."),
]
DirectionOption = Annotated[
    Direction | None,
    typer.Option(
        help="Keep the direction of edges: a node receives messages from the nodes it points to (out), or from those "
        "that point to it (in). Only for message-passing methods, such as gcn. Default: undirected."
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
    """Reject unknown methods, and methods whose extra is not installed, before any data is loaded."""
    for name in filter(None, map(str.strip, names.split(","))):
        find_method(name).check_installed()


def default_method(dataset: NodeDataset, changes: Mapping[str, Any], rows_only: bool = False) -> str:
    """The method that trains a data set if the user names none.

    Args:
        dataset: The data.
        changes: Settings that the user gave.
        rows_only: Whether the method must train on rows alone: from a store, or shared between processes.
    """
    if dataset.is_named or rows_only:
        return "unifilter"
    known = {field.name for field in dataclasses.fields(find_method("auto"))}
    return "auto" if known >= changes.keys() else "unifilter"


def build_method(name: str, dataset: NodeDataset, split: str | None, preset: Preset, changes: dict[str, Any]) -> Method:
    """A method with the published settings if the data set is named, and the changes of the user."""
    if dataset.table is not None and "features" in changes:
        raise ValueError(
            f"--features scales arrays, but {dataset.name!r} is a table, whose columns are encoded by type: "
            "leave --features out"
        )
    known = dataset.name if dataset.is_named else None
    rule = split or dataset.default_split
    settings = {"metric": dataset.metric, **changes}
    return find_method(name).preset(known, preset, split=rule, task=dataset.task, **settings)


def parse_settings(pairs: list[str] | None) -> dict[str, Any]:
    """Parse ``name=value`` pairs. A value is read as JSON (0.5, true, null), otherwise as text."""
    settings: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise ValueError(f"--set takes name=value, not {pair!r}: for example --set dropout=0.5")
        try:
            settings[name] = json.loads(text)
        except json.JSONDecodeError:
            settings[name] = text
    return settings
