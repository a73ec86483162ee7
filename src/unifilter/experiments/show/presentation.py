"""What an experiment shows: tables of measured figures beside reported ones, sentences, and a picture."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from unifilter.experiments.engine.row_files import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Verdict = Literal["within", "above", "below", "measured", "reported", "missing"]


@dataclass(frozen=True)
class Entry:
    """One place in a table.

    Attributes:
        values: What was measured, one number a split.
        reported: Mean and, where it is known, standard deviation of the paper.
        printed: Decimals that the paper prints; ``None`` where it is not known to be rounded.
    """

    values: tuple[float, ...] = ()
    reported: tuple[float, float | None] | None = None
    printed: int | None = None

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def deviation(self) -> float:
        """Standard deviation over the splits, with n and not n - 1 in the denominator, as papers on filters have it."""
        return float(np.std(self.values))

    @property
    def verdict(self) -> Verdict:
        """``"within"`` one standard deviation of what is reported, ``"above"`` or ``"below"``.

        The deviation is the reported one; where none is reported, the measured one. What the paper's rounding hides is
        no difference.
        """
        if not self.values:
            return "missing" if self.reported is None else "reported"
        if self.reported is None:
            return "measured"
        mean, deviation = self.reported
        distance = self.mean - mean
        rounding = 0.0 if self.printed is None else 0.5 * 10**-self.printed
        if abs(distance) <= (self.deviation if deviation is None else deviation) + rounding:
            return "within"
        return "above" if distance > 0 else "below"


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        title: What its entries are, with their unit.
        rows, columns: Their names, in order.
        entries: By row and column; what is not there was neither measured nor reported.
        digits: Decimals that are printed.
        corner: What the rows are.
        over: What there is one value of an entry for; ``None`` where an entry is a single number.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    entries: Mapping[tuple[str, str], Entry]
    digits: int = 2
    corner: str = ""
    over: str | None = "split"

    def entry(self, row: str, column: str) -> Entry:
        return self.entries.get((row, column), Entry())

    @property
    def most(self) -> int:
        """How many values the entries have that have the most; an entry with fewer is marked."""
        return max((len(entry.values) for entry in self.entries.values()), default=0)

    @property
    def caption(self) -> str:
        """The title, and what the entries are a mean of that do not say it themselves."""
        if self.over is None or self.most == 0:
            return self.title
        spread = "mean ± standard deviation over " if self.most > 1 else ""
        return f"{self.title}, {spread}{self.count_of(self.most)}"

    def count_of(self, values: int) -> str:
        """So many splits, or whatever there is a value for."""
        return f"{values} {self.over}{'s' if values > 1 else ''}"


@dataclass(frozen=True)
class Finding:
    """A claim, what was measured, and whether the two agree."""

    claim: str
    where: str
    measured: str
    verdict: Literal["holds", "holds in part", "does not hold", "not measured"]


@dataclass(frozen=True)
class Tally:
    """How many entries have a reported figure, and how what was measured compares with it."""

    reported: int
    within: int
    above: int
    below: int

    @property
    def measured(self) -> int:
        return self.within + self.above + self.below


@dataclass
class Presentation:
    """All that is shown.

    Attributes:
        tables: Tables with numbers.
        findings: Claims and what became of them.
        notes: Sentences: what was chosen, what is missing, who is ahead.
        draw: Draws the picture; ``None`` where there is nothing to draw.
    """

    tables: list[Table] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    draw: Callable[[], Figure] | None = None

    @property
    def tally(self) -> Tally:
        """Of all its tables."""
        entries = [entry for table in self.tables for entry in table.entries.values() if entry.reported is not None]
        counts = Counter(entry.verdict for entry in entries)
        return Tally(len(entries), counts["within"], counts["above"], counts["below"])


def score_of(row: Row) -> float:
    """The test score of a training cell in percent, by the metric it was trained for."""
    return 100 * float(row["outcome"][f"test_{row['settings']['metric']}"])


def collect(
    rows: Iterable[Row], coordinates: Sequence[str], value: Callable[[Row], float] = score_of
) -> dict[tuple[str, ...], list[float]]:
    """Values by where they belong, in the order of the splits."""
    found: dict[tuple[str, ...], list[float]] = {}
    for row in sorted(rows, key=lambda row: int(row["index"])):
        found.setdefault(tuple(str(row["at"][name]) for name in coordinates), []).append(value(row))
    return found


def on_common_splits(rows: Sequence[Row], curve: str, along: str) -> list[Row]:
    """The rows of those splits that every point of their curve has: points of other splits would differ by these.

    Args:
        rows: Rows of any curves.
        curve: The coordinate that tells the curves apart.
        along: The coordinate that tells the points of a curve apart; points without rows do not count.
    """
    points: dict[Any, dict[Any, set[int]]] = {}
    for row in rows:
        points.setdefault(row["at"][curve], {}).setdefault(row["at"][along], set()).add(int(row["index"]))
    common = {name: set.intersection(*splits.values()) for name, splits in points.items()}
    return [row for row in rows if int(row["index"]) in common[row["at"][curve]]]


def differences(rows: Iterable[Row], label: str, base: str) -> dict[str, list[float]]:
    """How far one row of a table is above another on the same splits, by column; columns without such splits are left
    out.
    """
    found: dict[tuple[str, str], dict[int, float]] = {}
    for row in rows:
        found.setdefault((row["at"]["row"], row["at"]["column"]), {})[int(row["index"])] = score_of(row)
    paired = {}
    for (one, column), values in found.items():
        other = found.get((base, column), {})
        if one == label and values.keys() & other.keys():
            paired[column] = [values[index] - other[index] for index in sorted(values.keys() & other.keys())]
    return paired


def comparison(
    title: str,
    measured: Mapping[tuple[str, ...], Sequence[float]],
    reported: Mapping[tuple[str, str], Any],
    rows: Sequence[str],
    columns: Sequence[str],
    printed: int = 2,
    **options: Any,
) -> Table:
    """A table of measured and reported figures.

    Args:
        title: What the entries are.
        measured: Values by row and column.
        reported: A mean, or a mean and a standard deviation, by row and column.
        rows: Which to show, in order; further ones that were measured follow.
        columns: Likewise.
        printed: Decimals of the reported figures.
        options: Of :class:`Table`.
    """
    all_rows = tuple(dict.fromkeys([*rows, *(row for row, _ in measured)]))
    all_columns = tuple(dict.fromkeys([*columns, *(column for _, column in measured)]))
    entries = {
        (row, column): Entry(tuple(measured.get((row, column), ())), _pair(reported.get((row, column))), printed)
        for row in all_rows
        for column in all_columns
        if measured.get((row, column)) or (row, column) in reported
    }
    return Table(title, all_rows, all_columns, entries, **options)


def _pair(value: Any) -> tuple[float, float | None] | None:
    if value is None:
        return None
    return (float(value[0]), float(value[1])) if isinstance(value, (list, tuple)) else (float(value), None)


@dataclass(frozen=True)
class Interval:
    """Mean difference of paired values, with a 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def verdict(self) -> Literal["ahead", "tie", "behind"]:
        return "ahead" if self.low > 0 else "behind" if self.high < 0 else "tie"


def paired_interval(differences: Sequence[float], test_share: float) -> Interval | None:
    """The interval of Nadeau and Bengio (2003), which allows for splits that share their nodes.

    Args:
        differences: One a split; a single one has no interval.
        test_share: Test nodes over training nodes.
    """
    from scipy import stats

    count = len(differences)
    if count < 2:
        return None
    mean, variance = float(np.mean(differences)), float(np.var(differences, ddof=1))
    half = float(stats.t.ppf(0.975, count - 1)) * math.sqrt((1 / count + test_share) * variance)
    return Interval(mean, mean - half, mean + half)
