"""The tables of ``docs/scale.md`` from what :mod:`benchmarks.scale` has measured."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_BEGIN, _END = "<!-- measured: begin -->", "<!-- measured: end -->"
_HOPS = 10
# Nodes, edges, features and labeled nodes of ogbn-papers100M.
_PAPERS = (111_059_956, 1_615_685_872, 128, 1_546_782)
# Columns of single precision in a cache line.
_LINE = 16


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
    parts = [_table(("what", "time", "peak memory", "of it not mapped", "notes"), rows)] if rows else []
    parts += [part for stage, make in _PARTS.items() if stage in found for part in make(found)]
    conditions = sorted({f"{one['threads']} threads" for one in found.values()})
    return "\n\n".join([*parts, f"Measured with {', '.join(conditions)}."])


def _table(header: tuple[str, ...], rows: list[str]) -> str:
    return "\n".join([f"| {' | '.join(header)} |", f"|{' --- |' * len(header)}", *rows])


def _row(what: str, figures: dict[str, Any], notes: str) -> str:
    memory = [f"{figures[key] / 1e9:.2f} GB" for key in ("peak_resident", "peak_anonymous")]
    return f"| {what} | {figures['seconds']:.1f} s | {memory[0]} | {memory[1]} | {notes} |"


def _size(one: dict[str, Any]) -> str:
    return f"{one['nodes']:,} nodes, {one['edges']:,} edges, {one['channels']} features"


def _store(one: dict[str, Any]) -> list[str]:
    limit = one["limit"] / 1e9
    rows = []
    for size in one["figures"]["sizes"]:
        store = size["store"]
        ratio = f"{size['ratio']:.2f} x the time of K bare products of the blocks"
        notes = f"limit {limit:.0f} GB; {store['stored'] / 1e9:.1f} GB written; {ratio}"
        rows.append(_row(f"store, {_size(store)}", store, notes))
    return rows


def _growth(one: dict[str, Any]) -> list[str]:
    return _orders(one, f"; exponent of all sizes {one['figures']['exponent']:.2f}", "in memory")


def _order(one: dict[str, Any]) -> list[str]:
    return _orders(one, "", "in memory, neighbors close by, ids shuffled")


def _orders(one: dict[str, Any], of_all: str, title: str) -> list[str]:
    plain = {size["entries"]: size["seconds"] for size in one["figures"]["sizes"] if size["order"] is None}
    rows = []
    for size in one["figures"]["sizes"]:
        notes = f"{1e9 * size['seconds'] / size['entries']:.0f} ns per stored entry"
        if size["order"] is None:
            what, notes = "", notes + of_all
        else:
            what = f', order="{size["order"]}"'
            notes += f"; {size['seconds'] / plain[size['entries']]:.2f} x the time in the order of the nodes"
        notes += f"; converted in {size['convert']['seconds']:.0f} s"
        rows.append(_row(f"{title}, {size['entries'] // 2:,} edges, {one['channels']} features{what}", size, notes))
    return rows


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


def _cost_model(found: dict[str, Any]) -> list[str]:
    """The cost model beside what was measured."""
    rows = []
    for size in found["store"]["figures"]["sizes"]:
        store, products = size["store"], size["products"]
        vectors = 4 * (_HOPS + 1) * store["nodes"] * store["channels"]
        graph = 8 * (store["edges"] + store["nodes"])
        seconds = (_HOPS + 1) / _HOPS * products["seconds"] + vectors / products["bytes_written_per_second"]
        memory = store["anonymous_before"] + store["predicted_memory"]
        pairs = [
            (f"{seconds:.1f}", f"{store['seconds']:.1f} s"),
            (f"{memory / 1e9:.2f}", f"{store['peak_anonymous'] / 1e9:.2f} GB"),
            (f"{vectors / 1e9:.2f}", f"{store['stored'] / 1e9:.2f} GB"),
            (f"{graph / 1e9:.3f}", f"{size['convert']['graph'] / 1e9:.3f} GB"),
        ]
        cells = " | ".join(f"{predicted} / {measured}" for predicted, measured in pairs)
        rows.append(f"| {_size(store)} | {cells} |")
    said = (
        "What the cost model predicts, and what was measured. Time is that of K + 1 bare products of the same blocks, "
        "and of writing the vectors at the measured rate of the disk; memory is that which is not mapped, the program "
        "included."
    )
    names = ("time", "memory", "vectors on the disk", "graph on the disk")
    header = ("predicted / measured", *names)
    return [said, _table(header, rows)]


def _papers(found: dict[str, Any]) -> list[str]:
    """The time of ogbn-papers100M from the rate of the largest graph of the stage ``growth``."""
    nodes, edges, channels, labeled = _PAPERS
    largest = max((one for one in found["growth"]["figures"]["sizes"] if one["order"] is None), key=_entries)
    width = found["growth"]["channels"]
    per_entry = largest["seconds"] / largest["entries"]
    lines = -(-channels // _LINE)
    block = 2 * edges * per_entry / -(-width // _LINE)
    vectors, rows = (4 * (_HOPS + 1) * channels * count for count in (nodes, labeled))
    text = (
        f"For ogbn-papers100M, the largest of the graphs in memory above took {1e9 * per_entry:.0f} ns per stored "
        f"entry for {width} columns. At this rate a block of {_LINE} columns takes {_hours(block)}: one worker that "
        f"computes the {lines} blocks one by one takes {_hours(lines * block)}, {lines} workers take {_hours(block)}, "
        "and 64 workers take no less, because blocks of fewer columns are not faster."
    )
    if "store" in found:
        written = found["store"]["figures"]["sizes"][-1]["products"]["bytes_written_per_second"]
        text += (
            f" Writing all vectors, {vectors / 1e9:.0f} GB, takes another {_hours(vectors / written)} on one disk at "
            f"the measured rate, and the rows of the labeled nodes, {rows / 1e9:.0f} GB, {_hours(rows / written)}."
        )
    return [text]


def _entries(one: dict[str, Any]) -> int:
    return int(one["entries"])


def _hours(seconds: float) -> str:
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} seconds"


def _channels(found: dict[str, Any]) -> list[str]:
    """Both forms of the filter on features of growing width, and where they cross."""
    one = found["channels"]
    pairs = list(zip(one["figures"]["each"], one["figures"]["shared"], strict=True))
    rows = []
    for pair in pairs:
        cells = " | ".join(f"{part['epoch']:.3f} s, {part['peak_anonymous'] / 1e9:.2f} GB" for part in pair)
        rows.append(f"| {pair[0]['width']:,} | {cells} |")
    header = ("features", 'channels="each"', 'channels="shared", the filter in every epoch')
    lean = [each["width"] for each, shared in pairs if shared["peak_anonymous"] < each["peak_anonymous"]]
    fast = [each["width"] for each, shared in pairs if shared["epoch"] < each["epoch"]]
    said = (
        f"Time of an epoch and peak memory of a fit that is not mapped, on {one['nodes']:,} nodes and {one['edges']:,} "
        "edges with a tenth of the nodes for training. "
        + _crossing("takes less memory", lean, pairs)
        + " "
        + _crossing("has the faster epoch", fast, pairs)
    )
    return [said, _table(header, rows)]


def _crossing(what: str, widths: list[int], pairs: list[Any]) -> str:
    if not widths:
        return f'`channels="shared"` never {what} at these widths.'
    if len(widths) == len(pairs):
        return f'`channels="shared"` {what} at all of these widths.'
    if widths == [each["width"] for each, _ in pairs[-len(widths) :]]:
        return f'`channels="shared"` {what} from {widths[0]:,} features on.'
    return f'`channels="shared"` {what} with {", ".join(f"{width:,}" for width in widths)} features.'


_ROWS = {
    "store": _store,
    "growth": _growth,
    "order": _order,
    "end-to-end": _end_to_end,
    "rivals": _rivals,
    "paper": _paper,
    "wide": _wide,
}
_PARTS = {"store": _cost_model, "growth": _papers, "channels": _channels}
