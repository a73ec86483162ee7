"""``unifilter results``: stored results beside the paper's numbers, without training anything."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from unifilter._internal.document_tables import DocumentFormat, document_table
from unifilter.cli.options import AsJson, TableFormat
from unifilter.cli.output import check_format, print_json, print_table
from unifilter.experiments import EXPERIMENTS, find_experiments
from unifilter.experiments.engine.results import stored_results, write_results, write_results_page
from unifilter.experiments.show.documents import experiment_tables
from unifilter.experiments.show.presentation import Entry, Table
from unifilter.experiments.show.report import TALLY, measured_text, reported_text
from unifilter.experiments.show.shown import Shown

# Verdicts in the last column. A number without a reported counterpart gets none.
_MARKS = {"within": "within", "above": "above", "below": "below", "reported": "not measured"}

_TALLIED = ("reported", "measured", "within", "above", "below")
_SUMMARY = TALLY[:1].upper() + TALLY[1:]


def results_command(
    name: Annotated[
        str | None,
        typer.Argument(help=f"One of {', '.join(EXPERIMENTS)}; or all. Without a name: a summary of all."),
    ] = None,
    rows: Annotated[
        list[Path] | None,
        typer.Option(help="Show these rows instead of the packaged ones: a CSV file, or a folder of them. Repeatable."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write rows, plots and report.html to this folder.")] = None,
    docs: Annotated[
        Path | None, typer.Option(help="Write all results as one Markdown page, with its plots beside it.")
    ] = None,
    table_format: TableFormat = "text",
    as_json: AsJson = False,
) -> None:
    """Show the results that ship with the package beside the paper's. Nothing is trained.

    Numbers are marked as within one reported standard deviation (or the paper's rounding), above or below it.

    To measure on your own machine, use `unifilter reproduce`.
    """
    places = rows or []
    check_format(table_format, as_json)
    if table_format != "text" and (docs is not None or out is not None):
        raise ValueError(f"--format {table_format} is for tables that are printed: use it without --docs and --out")
    if docs is not None:
        if name is not None or out is not None:
            raise ValueError("--docs writes one page of all experiments: leave out NAME and --out")
        _write_docs(places, docs, as_json)
        return
    shown = stored_results(find_experiments(name or "all"), places)
    if out is not None:
        parts = ["unifilter", "results", *([name] if name else [])]
        pages = write_results(shown, out, shlex.join(parts))
        if as_json:
            print_json({"folder": str(out), "pages": {one: str(page) for one, page in pages.items()}})
        else:
            typer.echo("\n".join(map(str, pages.values())))
    elif as_json:
        print_json([_summary(one) if name is None else _details(one) for one in shown])
    elif table_format != "text":
        tables = [_summary_table(shown, table_format)] if name is None else []
        for one in shown if name is not None else []:
            tables += experiment_tables(one, table_format)
        typer.echo("\n\n".join(tables))
    elif name is None:
        _print_summary(shown)
    else:
        for number, one in enumerate(shown):
            if number:
                typer.echo()
            _print_experiment(one)


def _write_docs(places: list[Path], page: Path, as_json: bool) -> None:
    count = write_results_page(list(EXPERIMENTS.values()), places, page, "unifilter results --docs")
    if as_json:
        print_json({"page": str(page), "rows": count})
    else:
        typer.echo(f"{count} rows shown in {page}")


def _print_summary(shown: list[Shown]) -> None:
    compared = [one for one in shown if one.compared]
    others = [one.experiment.name for one in shown if not one.compared]
    if compared:
        typer.echo(f"{_SUMMARY}:\n")
        header, lines = _summary_cells(compared)
        print_table(lines, header)
        typer.echo()
    if others:
        typer.echo(f"The paper reports no numbers for: {', '.join(others)}\n")
    typer.echo("`unifilter results NAME` shows the tables of one experiment.")


def _summary_table(shown: list[Shown], form: DocumentFormat) -> str:
    return document_table(form, *_summary_cells([one for one in shown if one.compared]), _SUMMARY, "tab:summary")


def _summary_cells(compared: list[Shown]) -> tuple[list[str], list[list[str]]]:
    lines = [[one.experiment.name, one.experiment.place, *map(str, _tally(one).values())] for one in compared]
    return ["name", "in the paper", *_TALLIED], lines


def _print_experiment(one: Shown) -> None:
    experiment, presentation, rows = one
    typer.echo(f"{experiment.title} ({experiment.name}, {experiment.place}; {len(rows)} rows)")
    for note in presentation.notes:
        typer.echo(f"\n{note}")
    for table in presentation.tables:
        typer.echo(f"\n{table.caption[:1].upper()}{table.caption[1:]}:\n")
        _print_entries(table)
    for found in presentation.findings:
        typer.echo(f"\n{found.claim}: {found.verdict}\n  {found.where}: {found.measured}")


def _print_entries(table: Table) -> None:
    """One line per entry: a table of six graphs with both numbers in each cell would be wider than a terminal."""
    lines = [
        (
            row,
            column,
            measured_text(entry, table) if entry.values else "-",
            reported_text(entry, table.digits) or "-",
            _MARKS.get(entry.verdict, ""),
        )
        for row, column, entry in _entries(table)
    ]
    print_table(lines, header=("", "", "measured", "reported", ""))


def _entries(table: Table) -> list[tuple[str, str, Entry]]:
    """Entries that were measured or are reported, in the order of the table."""
    entries = [(row, column, table.entry(row, column)) for row in table.rows for column in table.columns]
    return [(row, column, entry) for row, column, entry in entries if entry.verdict != "missing"]


def _tally(one: Shown) -> dict[str, int]:
    tally = one.presentation.tally
    return {name: getattr(tally, name) for name in _TALLIED}


def _summary(one: Shown) -> dict[str, Any]:
    experiment = one.experiment
    return {
        "name": experiment.name,
        "title": experiment.title,
        "place": experiment.place,
        "rows": len(one.rows),
        "compared": one.compared,
        **_tally(one),
    }


def _details(one: Shown) -> dict[str, Any]:
    presentation = one.presentation
    return {
        **_summary(one),
        "notes": presentation.notes,
        "tables": [{"title": table.caption, "entries": _entries_as_json(table)} for table in presentation.tables],
        "findings": [
            {"claim": found.claim, "where": found.where, "measured": found.measured, "verdict": found.verdict}
            for found in presentation.findings
        ],
    }


def _entries_as_json(table: Table) -> list[dict[str, Any]]:
    return [
        {
            "row": row,
            "column": column,
            "mean": entry.mean if entry.values else None,
            "std": entry.deviation if entry.values else None,
            "count": len(entry.values),
            "reported_mean": None if entry.reported is None else entry.reported[0],
            "reported_std": None if entry.reported is None else entry.reported[1],
            "verdict": entry.verdict,
        }
        for row, column, entry in _entries(table)
    ]
