"""The mark on a score that leaves classes out, and the lines below a table that name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from unifilter.runs.left_out import UNTESTED, UNVALIDATED

_MARKS = {UNTESTED: "*", UNVALIDATED: "†"}
_NODES = {UNTESTED: "test", UNVALIDATED: "validation"}


def mark(record: Mapping[str, Any], left_out: str) -> str:
    """A mark where a record, or the summary of several, has classes that the score says nothing about.

    Args:
        record: The record.
        left_out: Which score: ``UNTESTED`` for the test score, ``UNVALIDATED`` for the validation score.
    """
    return _MARKS[left_out] if record.get(left_out) else ""


def print_notes(record: Mapping[str, Any], *left_out: str, err: bool = False) -> None:
    """A line for each mark, with the names of the classes; by default for both."""
    for key in left_out or _MARKS:
        names = record.get(key)
        if names:
            listed = ", ".join(map(repr, names))
            them = "it" if len(names) == 1 else "them"
            typer.echo(
                f"{_MARKS[key]} no {_NODES[key]} node of class {listed}: the score says nothing about {them}", err=err
            )
