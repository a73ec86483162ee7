"""Prose about results: a template with all numbers filled in from stored rows."""

from __future__ import annotations

import re
from typing import Any

from jinja2 import Environment, StrictUndefined

from unifilter.experiments.show.figures import Figures

# Allowed digits that are not measurements: places in the paper, shares of splits, settings and names.
_NAMED = re.compile(
    r"`[^`]*`"
    r"|(?:Table|Figure|Theorem|Proposition|Section|split)s? \d+(?:\.\d+)?"
    r"|\d+/\d+/\d+"
    r"|(?:tau|h|k) (?:= )?\d(?:\.\d+)?"
    r"|\b[A-Za-z]+\d\w*|\(1 - h\)"
)


def fill(template: str, figures: Figures) -> str:
    """The prose with all numbers filled in.

    Templates call ``mean``, ``reported``, ``difference``, ``splits`` and ``outcome`` of
    :class:`unifilter.experiments.show.figures.Figures`, and ``f`` to print a number with a given number of decimals.
    A sentence without a number begins with ``check(condition)``: if the rows no longer support the sentence, the page
    is not written.
    """
    environment = Environment(
        undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    names: dict[str, Any] = {
        name: getattr(figures, name) for name in ("mean", "reported", "difference", "splits", "outcome", "entry")
    }
    return environment.from_string(template).render(
        **names, f=_decimals, check=_check, abs=abs, max=max, min=min, sum=sum, len=len
    )


def typed_figures(template: str) -> list[str]:
    """Numbers typed into a template, except names of places and settings."""
    text = re.sub(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", "", template, flags=re.DOTALL)
    return re.findall(r"\d[\d.,]*", _NAMED.sub("", text))


def _check(holds: bool) -> str:
    if not holds:
        raise ValueError("stored rows no longer bear a sentence of the discussion out: see the line of the template")
    return ""


def _decimals(value: float, decimals: int = 2, sign: bool = False) -> str:
    return f"{value:{'+' if sign else ''}.{decimals}f}"
