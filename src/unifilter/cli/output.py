"""Output of commands: tables on a terminal, aligned plain text in a pipe, or JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import typer

from unifilter.data.metric import TASK_METRICS


def print_json(value: Any) -> None:
    """Print a JSON document. NaN and infinity, which JSON lacks, raise an error."""
    typer.echo(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False))


def percent(value: float | None) -> str:
    """A fraction as a percentage; a dash for ``None``, such as ROC AUC on test nodes of a single class."""
    return "-" if value is None else f"{100 * value:.2f}"


def score_text(value: float | None, metric: str) -> str:
    """A classification score as a percentage, a regression score unchanged."""
    if metric not in TASK_METRICS["regression"] or value is None:
        return percent(value)
    return f"{value:.4g}"


def score_name(metric: str) -> str:
    """The column header of a score."""
    return metric.replace("_", " ") + ("" if metric in TASK_METRICS["regression"] else " %")


def mean_and_std(found: tuple[float, float] | None, mark: str = "", metric: str = "accuracy") -> str:
    """Mean and standard deviation, formatted by :func:`score_text`, with a mark after the mean."""
    if found is None:
        return f"-{mark}"
    return f"{score_text(found[0], metric)}{mark} ± {score_text(found[1], metric)}"


def check_format(form: str, as_json: bool) -> None:
    """JSON has no tables, so no other form goes with it."""
    if as_json and form != "text":
        raise ValueError(f"--json prints no tables, so --format {form} has nothing to change: pass only one of them")


def print_table(rows: Sequence[Sequence[str]], header: Sequence[str] = ()) -> None:
    """Print a table, with or without a header."""
    if sys.stdout.isatty():
        _print_rich(rows, header)
        return
    lines = [header, *rows] if header else list(rows)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _print_rich(rows: Sequence[Sequence[str]], header: Sequence[str]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*header, show_header=bool(header), box=None, pad_edge=False)
    for row in rows:
        # As Text, so that rich does not read brackets in a path or a citation as markup.
        table.add_row(*map(Text, row))
    Console().print(table)
