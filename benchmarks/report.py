"""Plain-text tables, and the list of targets that every section adds to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Target:
    """A measured figure and the bound it should keep."""

    what: str
    value: float
    bound: float
    at_least: bool
    unit: str = "x"

    @property
    def met(self) -> bool:
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        value = f"{self.value:.2f}" if isinstance(self.value, float) else str(self.value)
        return f"{value}{self.unit} ({sign} {self.bound:g}{self.unit}: {'met' if self.met else 'missed'})"


@dataclass
class Report:
    """What the sections found: figures for the file, targets for the summary."""

    targets: list[Target] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def at_least(self, what: str, value: float, bound: float, unit: str = "x") -> str:
        return self._add(Target(what, value, bound, True, unit))

    def at_most(self, what: str, value: float, bound: float, unit: str = "x") -> str:
        return self._add(Target(what, value, bound, False, unit))

    def _add(self, target: Target) -> str:
        self.targets.append(target)
        return str(target)

    def summary(self) -> None:
        if self.targets:
            print_table("Targets", ["what", "measured and target"], [[t.what, str(t)] for t in self.targets])
            print(f"{sum(t.met for t in self.targets)} of {len(self.targets)} met")


def print_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(line[i]) for line in [headers, *rows]) for i in range(len(headers))]

    def text(line: Sequence[str]) -> str:
        cells = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
        cells[0] = line[0].ljust(widths[0])
        return "  ".join(cells).rstrip()

    print(f"\n{title}\n{text(headers)}\n{'-' * (sum(widths) + 2 * len(widths) - 2)}")
    for row in rows:
        print(text(row))
    print(end="", flush=True)


def seconds(value: float) -> str:
    unit, size = ("s", 1.0) if value >= 1 else ("ms", 1e-3) if value >= 1e-3 else ("us", 1e-6)
    return f"{value / size:.2f} {unit}"
