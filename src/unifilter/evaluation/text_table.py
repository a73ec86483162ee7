"""Aligned tables in plain text."""

from __future__ import annotations

from collections.abc import Sequence

Cell = str | int | float | None


def text_table(rows: Sequence[Sequence[Cell]], number: str = ".4f") -> str:
    """Format rows with the first column left-aligned and the others right-aligned; ``None`` becomes a dash.

    Args:
        rows: Rows of equal length. The first may be a header.
        number: Format of floats.

    Example:
        >>> print(text_table([["", "score", "nodes"], ["cats", 0.5, 12], ["dogs", None, 0]]))
               score  nodes
        cats  0.5000     12
        dogs       -      0
    """
    texts = [[_text(cell, number) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in texts
    )


def _text(cell: Cell, number: str) -> str:
    if cell is None:
        return "-"
    return format(cell, number) if isinstance(cell, float) else str(cell)
