"""The results pages of the documentation, written from stored rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from unifilter.experiments.show.claims import Claim
from unifilter.experiments.show.documents import MARKS
from unifilter.experiments.show.presentation import Entry, Finding, Table
from unifilter.experiments.show.report import TALLY, measured_text, reported_text, tally_cells, tally_heads
from unifilter.experiments.show.reported import reported_figures
from unifilter.experiments.show.shown import Shown

# Columns of a table that fit on a screen, where measured and reported figures are on two lines. Tables that have a
# picture and more than the second number of columns are shown as the picture.
_FITTING, _FOR_A_PICTURE = 4, 8
# Keeps a mean and its deviation on one line.
_NO_BREAK = "\N{NO-BREAK SPACE}"


def results_page(
    shown: Sequence[Shown], pictures: Mapping[str, str], command: str, claims: Sequence[Claim], discussion: str = ""
) -> str:
    """Write the page of tables as Markdown: the claims first, then every experiment.

    Args:
        shown: The experiments with their presentations and rows.
        pictures: Path of each experiment's plot, relative to the page.
        command: The command that writes the page.
        claims: The outcome of each claim of the paper.
        discussion: Path of the page with the discussion, relative to this one; empty if there is none.
    """
    lines = [
        "# Results",
        "",
        f"What the paper claims, and what came out when we measured it. This page is written by `{command}` from "
        "stored rows; no number in it was typed by hand. `unifilter results NAME` shows an experiment in the terminal, "
        "and `unifilter reproduce NAME` runs it on your machine.",
        "",
        f"Reported figures: {reported_figures()['source']}.",
        "",
        *_claims(claims),
    ]
    if discussion:
        lines += ["", f"What is behind these verdicts, and what else was found, is in the [discussion]({discussion})."]
    lines += ["", *_at_a_glance(shown)]
    for experiment, presentation, rows in shown:
        versions = sorted({str(row["outcome"]["unifilter"]) for row in rows if "unifilter" in row["outcome"]})
        made = f", unifilter {', '.join(versions)}" if versions else ""
        lines += ["", f"## {experiment.title}", "", f"`{experiment.name}`, {experiment.place}; {len(rows)} rows{made}."]
        for note in presentation.notes:
            lines += ["", note]
        picture = pictures.get(experiment.name)
        for table in presentation.tables:
            if picture is None or len(table.columns) <= _FOR_A_PICTURE:
                lines += ["", *_table(table)]
        if picture is not None and any(len(table.columns) > _FOR_A_PICTURE for table in presentation.tables):
            lines += ["", f"The numbers behind the curves: `unifilter results {experiment.name}`."]
        if presentation.findings:
            lines += ["", *_findings(presentation.findings)]
        if picture is not None:
            lines += ["", f"![{experiment.title}]({picture})"]
    return "\n".join(lines) + "\n"


def _claims(claims: Sequence[Claim]) -> list[str]:
    return [
        "## The claims of the paper",
        "",
        _line(["claim, and what measures it", "reported", "measured", "verdict"]),
        _line(["---"] * 4),
        *(
            _line([f"{one.claim} ({one.place})<br>`{one.command}`", one.reported, one.measured, f"**{one.verdict}**"])
            for one in claims
        ),
    ]


def _at_a_glance(shown: Sequence[Shown]) -> list[str]:
    heads = ["", "in the paper", *tally_heads()]
    return [
        "## At a glance",
        "",
        f"{TALLY.capitalize()}. ≈ is within one reported standard deviation or the paper's rounding, ▲ above, ▼ below:",
        "",
        _line(heads),
        _line(["---"] * len(heads)),
        *(
            _line([experiment.title, experiment.place, *tally_cells(presentation)])
            for experiment, presentation, _ in (one for one in shown if one.compared)
        ),
        "",
        "In the tables below each entry is what was measured, and under it in brackets what is reported.",
    ]


def _table(table: Table) -> list[str]:
    lines = [f"{table.caption[:1].upper()}{table.caption[1:]}:"]
    parts = math.ceil(len(table.columns) / _FITTING)
    width = math.ceil(len(table.columns) / parts)
    for begin in range(0, len(table.columns), width):
        columns = table.columns[begin : begin + width]
        lines += [
            "",
            _line([table.corner, *columns]),
            _line(["---"] * (len(columns) + 1)),
            *(_line([row, *(_entry(table.entry(row, column), table) for column in columns)]) for row in table.rows),
        ]
    return lines


def _entry(entry: Entry, table: Table) -> str:
    ours, _, count = (measured_text(entry, table) if entry.values else "–").partition(", ")
    lines = [f"{ours} {MARKS.get(entry.verdict, '')}".rstrip()]
    if entry.reported is not None:
        lines.append(f"({reported_text(entry, table.digits)})")
    if count:
        lines.append(count)
    return "<br>".join(line.replace(" ", _NO_BREAK) for line in lines)


def _findings(findings: Sequence[Finding]) -> list[str]:
    return [
        _line(["claim", "where", "measured", "verdict"]),
        _line(["---"] * 4),
        *(_line([one.claim, one.where, one.measured, one.verdict]) for one in findings),
    ]


def _line(cells: Sequence[str]) -> str:
    # A bar would end the cell, so it is escaped.
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
