"""The page of results in the documentation, written from stored rows alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unifilter.experiments.show.presentation import Entry, Finding, Table
from unifilter.experiments.show.report import TALLY, measured_text, reported_text, tally_cells, tally_heads
from unifilter.experiments.show.reported import reported_figures
from unifilter.experiments.show.shown import Shown

_MARKS = {"within": "≈", "above": "▲", "below": "▼"}


def results_page(
    shown: Sequence[Shown],
    pictures: Mapping[str, str],
    command: str,
    findings: Sequence[str] = (),
) -> str:
    """The page as Markdown.

    Args:
        shown: Experiments, what they show, and the rows behind it.
        pictures: Where the picture of an experiment is, seen from the page.
        command: What wrote the page.
        findings: What people made of the rows, as Markdown; it goes before the tables.
    """
    lines = [
        "# Results",
        "",
        f"Written by `{command}` from stored rows; edit nothing here by hand. Each entry is what was measured, then in "
        "brackets what is reported. ≈ is within one reported standard deviation or the paper's rounding, ▲ above, ▼ "
        "below.",
        "",
        f"Reported figures: {reported_figures()['source']}.",
    ]
    lines += ["", *_at_a_glance(shown)]
    for text in findings:
        lines += ["", text.strip()]
    for experiment, presentation, rows in shown:
        versions = sorted({str(row["outcome"]["unifilter"]) for row in rows if "unifilter" in row["outcome"]})
        made = f", unifilter {', '.join(versions)}" if versions else ""
        lines += ["", f"## {experiment.title}", "", f"`{experiment.name}`, {experiment.place}; {len(rows)} rows{made}."]
        for note in presentation.notes:
            lines += ["", note]
        for table in presentation.tables:
            lines += ["", *_table(table)]
        if presentation.findings:
            lines += ["", *_findings(presentation.findings)]
        if experiment.name in pictures:
            lines += ["", f"![{experiment.title}]({pictures[experiment.name]})"]
    return "\n".join(lines) + "\n"


def _at_a_glance(shown: Sequence[Shown]) -> list[str]:
    heads = ["", "in the paper", *tally_heads()]
    return [
        "## At a glance",
        "",
        f"{TALLY.capitalize()}:",
        "",
        _line(heads),
        _line(["---"] * len(heads)),
        *(
            _line([experiment.title, experiment.place, *tally_cells(presentation)])
            for experiment, presentation, _ in (one for one in shown if one.compared)
        ),
    ]


def _table(table: Table) -> list[str]:
    return [
        f"{table.caption[:1].upper()}{table.caption[1:]}:",
        "",
        _line([table.corner, *table.columns]),
        _line(["---"] * (len(table.columns) + 1)),
        *(_line([row, *(_entry(table.entry(row, column), table) for column in table.columns)]) for row in table.rows),
    ]


def _entry(entry: Entry, table: Table) -> str:
    ours = measured_text(entry, table) if entry.values else "–"
    theirs = f" ({reported_text(entry, table.digits)})" if entry.reported is not None else ""
    mark = _MARKS.get(entry.verdict, "")
    return f"{ours}{theirs} {mark}".rstrip()


def _findings(findings: Sequence[Finding]) -> list[str]:
    return [
        _line(["claim", "where", "measured", "verdict"]),
        _line(["---"] * 4),
        *(_line([one.claim, one.where, one.measured, one.verdict]) for one in findings),
    ]


def _line(cells: Sequence[str]) -> str:
    # A bar would end the cell.
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
