"""The report: one self-contained HTML page with every table and plot, and how they were obtained."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from unifilter.experiments.show.presentation import Entry, Finding, Presentation, Table
from unifilter.experiments.show.reported import reported_figures

_LEGEND = {
    "within": ("≈", "within one standard deviation of what is reported, or its rounding"),
    "above": ("▲", "above it"),
    "below": ("▼", "below it"),
    "reported": ("", "reported, not measured"),
    "measured": ("", "measured, nothing reported"),
}


@dataclass(frozen=True)
class Section:
    """One experiment on the page.

    Attributes:
        name, title, place: Name and title of the experiment, and its place in the paper.
        presentation: Its presentation.
        picture: Its plot as SVG.
        checksums: Checksums of the data.
        rows: Number of results.
        left_out: What could not be measured, and why.
        before: Number of results from earlier runs.
        wanted: Number of results when complete; ``None`` if nothing was planned.
    """

    name: str
    title: str
    place: str
    presentation: Presentation
    picture: bytes | None
    checksums: Mapping[str, str]
    rows: int
    left_out: Sequence[str] = ()
    before: int = 0
    wanted: int | None = None


def write_page(sections: Sequence[Section], machine: Mapping[str, str] | None, command: str) -> str:
    """Write the page as self-contained HTML.

    Args:
        sections: The experiments.
        machine: Description of the machine; ``None`` for rows measured elsewhere.
        command: The command that writes the page again.
    """
    checksums = {name: checksum for section in sections for name, checksum in section.checksums.items()}
    title = sections[0].title if len(sections) == 1 else "The paper, reproduced"
    legend = "".join(
        f'<span class="key {verdict}">{mark} {escape(text)}</span>' for verdict, (mark, text) in _LEGEND.items()
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escape(title)}</h1>
<p>Measured with UniFilter beside what is reported in: {escape(reported_figures()["source"])}.</p>
<h2>{"How it was measured" if machine is not None else "Stored results, not measured here"}</h2>
<pre>{escape(command)}</pre>
{_pairs(machine or {})}
<details><summary>Data checksums (SHA-256 of the content)</summary>{_pairs(checksums)}</details>
{_contents(sections) if len(sections) > 1 else ""}
<p class="legend">{legend}</p>
{"".join(map(_section, sections))}
</body>
</html>
"""


# Explains the numbers of tally_cells.
TALLY = "entries with a reported figure, how many of them were measured, and how these compare"


def tally_heads() -> tuple[str, ...]:
    """Column names of :func:`tally_cells`."""
    return ("reported", "measured", *(_LEGEND[verdict][0] for verdict in ("within", "above", "below")))


def tally_cells(presentation: Presentation) -> tuple[str, ...]:
    """The tally of an experiment as text; empty if the paper reports nothing."""
    tally = presentation.tally
    counts = (tally.reported, tally.measured, tally.within, tally.above, tally.below)
    return tuple(map(str, counts)) if tally.reported else ("",) * len(counts)


def _contents(sections: Sequence[Section]) -> str:
    heads = "".join(f"<th>{head}</th>" for head in ("", *tally_heads()))
    lines = [
        f'<tr><th><a href="#{section.name}">{escape(section.title)}</a></th>'
        f"{''.join(f'<td>{cell}</td>' for cell in tally_cells(section.presentation))}</tr>"
        for section in sections
    ]
    return (
        f'<h2>Contents</h2><div class="wide"><table><caption>{TALLY}</caption><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _section(section: Section) -> str:
    shown = section.presentation
    parts = [
        f'<section id="{section.name}"><h2>{escape(section.title)}</h2>',
        f"<p><code>{section.name}</code>, {escape(section.place)}; {_count(section)}{_said_before(section)}.</p>",
        *(f"<p>{escape(note)}</p>" for note in shown.notes),
    ]
    if section.left_out:
        parts.append(f"<p>Left out:</p><ul>{''.join(f'<li>{escape(what)}</li>' for what in section.left_out)}</ul>")
    parts += map(_table, shown.tables)
    if shown.findings:
        parts.append(_findings(shown.findings))
    if section.picture is not None:
        # As an image, so that ids of different SVGs cannot clash.
        data = base64.b64encode(section.picture).decode()
        parts.append(f'<img alt="{escape(section.title)}" src="data:image/svg+xml;base64,{data}">')
    return "\n".join([*parts, "</section>"])


def _count(section: Section) -> str:
    return f"{section.rows} results" if section.wanted is None else f"{section.rows} of {section.wanted} results"


def _said_before(section: Section) -> str:
    """Note on results of earlier runs, which may come from another machine or version than stated at the top."""
    if section.before == 0:
        return ""
    count = "all of them" if section.before == section.rows else str(section.before)
    return f", {count} from earlier runs, perhaps on another machine"


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    lines = [
        f"<tr><th>{escape(row)}</th>{''.join(_entry(table.entry(row, column), table) for column in table.columns)}</tr>"
        for row in table.rows
    ]
    caption = f"<caption>{escape(table.caption)}</caption>"
    head = f"<thead><tr><th>{escape(table.corner)}</th>{head}</tr></thead>"
    return f'<div class="wide"><table>{caption}{head}<tbody>{"".join(lines)}</tbody></table></div>'


def _entry(entry: Entry, table: Table) -> str:
    mark = _LEGEND.get(entry.verdict, ("",))[0]
    ours = f"<b>{measured_text(entry, table)}</b> {mark}" if entry.values else "–"
    theirs = f"<small>{reported_text(entry, table.digits)}</small>" if entry.reported is not None else ""
    return f'<td class="{entry.verdict}">{ours}{"<br>" if theirs else ""}{theirs}</td>'


def measured_text(entry: Entry, table: Table) -> str:
    """Mean and standard deviation of the measured values, with their number if others have more."""
    count, text = len(entry.values), f"{entry.mean:.{table.digits}f}"
    if count > 1:
        text += f" ± {entry.deviation:.{table.digits}f}"
    return text if table.over is None or count == table.most else f"{text}, {table.count_of(count)}"


def reported_text(entry: Entry, digits: int) -> str:
    """The result reported in the paper."""
    if entry.reported is None:
        return ""
    mean, deviation = entry.reported
    return f"{mean:.{digits}f}" if deviation is None else f"{mean:.{digits}f} ± {deviation:.{digits}f}"


def _findings(findings: Sequence[Finding]) -> str:
    lines = [
        f"<tr><td>{escape(one.claim)}</td><td>{escape(one.where)}</td><td>{escape(one.measured)}</td>"
        f'<td class="{one.verdict.replace(" ", "-")}">{one.verdict}</td></tr>'
        for one in findings
    ]
    head = "<thead><tr><th>claim</th><th>where</th><th>measured</th><th>verdict</th></tr></thead>"
    return f'<div class="wide"><table class="text">{head}<tbody>{"".join(lines)}</tbody></table></div>'


def _pairs(pairs: Mapping[str, str]) -> str:
    return f"<dl>{''.join(f'<dt>{escape(name)}</dt><dd>{escape(value)}</dd>' for name, value in pairs.items())}</dl>"


_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --line: #d0d0d0; --soft: #666;
  --within: #d8ecd8; --above: #d3e3f5; --below: #fbdcc8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --paper: #16181c; --line: #444; --soft: #aaa;
  --within: #1f4a2a; --above: #1d3f66; --below: #6b3a1c; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 76rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding: .3rem 0; }
th, td { border: 1px solid var(--line); padding: .25rem .5rem; text-align: right; white-space: nowrap; }
th:first-child { text-align: left; }
.text th, .text td { text-align: left; white-space: normal; vertical-align: top; }
small { color: var(--soft); }
.within, .holds { background: var(--within); } .above { background: var(--above); }
.below, .does-not-hold { background: var(--below); } .holds-in-part { background: var(--above); }
.reported, .missing { color: var(--soft); }
.key { padding: .1rem .5rem; margin-right: .5rem; border: 1px solid var(--line); display: inline-block; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
img { max-width: 100%; background: #fff; border: 1px solid var(--line); }
pre { border: 1px solid var(--line); padding: .5rem; overflow-x: auto; }
"""
