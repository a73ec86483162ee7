"""Tables of an experiment to be pasted into a paper or a page."""

from __future__ import annotations

from unifilter._internal.document_tables import DocumentFormat, document_table
from unifilter.experiments.show.presentation import Entry, Table
from unifilter.experiments.show.report import measured_text, reported_text
from unifilter.experiments.show.shown import Shown

# How a verdict reads behind a number.
MARKS = {"within": "≈", "above": "▲", "below": "▼"}


def experiment_tables(one: Shown, form: DocumentFormat) -> list[str]:
    """Every table of an experiment, and one of its claims where it has some."""
    tables = [
        document_table(form, *table_cells(table), _caption(table), _label(one, number))
        for number, table in enumerate(one.presentation.tables)
    ]
    findings = one.presentation.findings
    if findings:
        rows = [[found.claim, found.where, found.measured, found.verdict] for found in findings]
        header = ["claim", "where", "measured", "verdict"]
        label = _label(one, len(tables))
        tables.append(document_table(form, header, rows, one.experiment.title, label, sentences=True))
    return tables


def table_cells(table: Table) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a table: what was measured, in brackets what is reported, and a mark."""
    rows = [[row, *(entry_text(table.entry(row, column), table) for column in table.columns)] for row in table.rows]
    return [table.corner, *table.columns], rows


def entry_text(entry: Entry, table: Table) -> str:
    """One entry in a cell."""
    ours = measured_text(entry, table) if entry.values else "–"
    theirs = f" ({reported_text(entry, table.digits)})" if entry.reported is not None else ""
    return f"{ours}{theirs} {MARKS.get(entry.verdict, '')}".rstrip()


def _label(one: Shown, number: int) -> str:
    return f"tab:{one.experiment.name}" + (f"-{number + 1}" if number else "")


def _caption(table: Table) -> str:
    caption = table.caption[:1].upper() + table.caption[1:]
    if all(entry.reported is None for entry in table.entries.values()):
        return caption
    return (
        f"{caption}; in brackets what is reported. ≈ is within one reported standard deviation or the paper's "
        "rounding, ▲ above, ▼ below"
    )
