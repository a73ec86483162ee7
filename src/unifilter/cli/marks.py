"""Marks for scores that ignore classes without nodes, and the footnotes that name these classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from unifilter.runs.left_out import UNTESTED, UNVALIDATED

_MARKS = {UNTESTED: "*", UNVALIDATED: "†"}
_NODES = {UNTESTED: "test", UNVALIDATED: "validation"}


def mark(record: Mapping[str, Any], left_out: str) -> str:
    """The mark of a score that ignores some classes, else an empty string.

    Args:
        record: A record, or the summary of several.
        left_out: ``UNTESTED`` for the test score, ``UNVALIDATED`` for the validation score.
    """
    return _MARKS[left_out] if record.get(left_out) else ""


def print_notes(record: Mapping[str, Any], *left_out: str, err: bool = False) -> None:
    """Print a footnote for each mark with the names of its classes. Default: both marks."""
    for key in left_out or _MARKS:
        names = record.get(key)
        if names:
            listed = ", ".join(map(repr, names))
            them = "it" if len(names) == 1 else "them"
            typer.echo(
                f"{_MARKS[key]} no {_NODES[key]} node of class {listed}: the score says nothing about {them}", err=err
            )
