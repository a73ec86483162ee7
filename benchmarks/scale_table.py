"""The tables of ``docs/scale.md`` from what :mod:`benchmarks.scale` has measured."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_BEGIN, _END = "<!-- measured: begin -->", "<!-- measured: end -->"


def write_docs(results: Path, page: Path) -> None:
    """Replace the part between the two marks."""
    found = json.loads(results.read_text()) if results.exists() else {}
    text = page.read_text(encoding="utf-8")
    block = f"{_BEGIN}\n{_tables(found)}\n{_END}"
    page.write_text(re.sub(f"{_BEGIN}.*{_END}", lambda _: block, text, flags=re.S), encoding="utf-8")


def _tables(found: dict[str, Any]) -> str:
    if not found:
        return "Nothing has been measured yet: `make bench-scale`."
    rows = [row for stage, make in _ROWS.items() if stage in found for row in make(found[stage])]
    header = "| what | time | peak memory | of it not mapped | notes |\n| --- | --- | --- | --- | --- |\n"
    conditions = sorted({f"{one['threads']} threads" for one in found.values()})
    return header + "\n".join(rows) + f"\n\nMeasured with {', '.join(conditions)}."


def _row(what: str, figures: dict[str, Any], notes: str) -> str:
    memory = [f"{figures[key] / 1e9:.2f} GB" for key in ("peak_resident", "peak_anonymous")]
    return f"| {what} | {figures['seconds']:.1f} s | {memory[0]} | {memory[1]} | {notes} |"


def _size(one: dict[str, Any]) -> str:
    return f"{one['nodes']:,} nodes, {one['edges']:,} edges, {one['channels']} features"


def _store(one: dict[str, Any]) -> list[str]:
    store, ratio = one["figures"]["store"], one["figures"]["ratio"]
    limit, stored = one["limit"] / 1e9, store["stored"] / 1e9
    notes = f"limit {limit:.0f} GB; {stored:.1f} GB written; {ratio:.2f} x the time of K bare products of the blocks"
    return [_row(f"store, {_size(one)}", store, notes)]


def _growth(one: dict[str, Any]) -> list[str]:
    exponent = one["figures"]["exponent"]
    return [
        _row(
            f"in memory, {size['entries'] // 2:,} edges, {one['channels']} features",
            size,
            f"{1e9 * size['seconds'] / size['entries']:.0f} ns per stored entry; exponent of all sizes {exponent:.2f}",
        )
        for size in one["figures"]["sizes"]
    ]


def _end_to_end(one: dict[str, Any]) -> list[str]:
    figures = one["figures"]
    steps = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in figures["steps"].items())
    return [_row(f"end to end, {_size(one)}", figures, f"limit {one['limit'] / 1e9:.0f} GB; {steps}")]


def _rivals(one: dict[str, Any]) -> list[str]:
    names = {"ours": "factorize and a basis", "sign": "PyG SIGN(10)", "published": "the published algorithm"}
    return [
        _row(f"{names[name]}, {_size(one)}", figures, f"{figures['stored'] / 1e9:.1f} GB of vectors")
        for name, figures in one["figures"].items()
    ]


def _paper(one: dict[str, Any]) -> list[str]:
    return [
        _row(f"train, size of {name}", figures, f"five epochs; limit {one['limit'] / 1e9:.0f} GB")
        for name, figures in one["figures"].items()
    ]


def _wide(one: dict[str, Any]) -> list[str]:
    return [_row("train, size of Coauthor-Physics", one["figures"], f"limit {one['limit'] / 1e9:.0f} GB")]


_ROWS = {
    "store": _store,
    "growth": _growth,
    "end-to-end": _end_to_end,
    "rivals": _rivals,
    "paper": _paper,
    "wide": _wide,
}
