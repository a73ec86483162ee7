"""The presentation of an experiment: tables of measured and reported results, sentences, and a plot."""

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
    """One entry of a table.

    Attributes:
        values: Measured values, one per split.
        reported: The paper's mean and, if known, standard deviation.
        printed: Number of decimals printed in the paper; ``None`` if unknown.
    """

    values: tuple[float, ...] = ()
    reported: tuple[float, float | None] | None = None
    printed: int | None = None

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def deviation(self) -> float:
        """Standard deviation over the splits, with n rather than n - 1 in the denominator, as in papers on filters."""
        return float(np.std(self.values))

    @property
    def verdict(self) -> Verdict:
        """``"within"`` one standard deviation of the reported mean, ``"above"`` or ``"below"``.

        This uses the reported standard deviation, or the measured one if none is reported. Differences within the
        rounding of the paper count as ``"within"``.
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
    """A table of results.

    Attributes:
        title: What the entries are, with their unit.
        rows, columns: Names, in order.
        entries: Entries by row and column; missing ones were neither measured nor reported.
        digits: Number of decimals shown.
        corner: What the rows are.
        over: What an entry has one value for; ``None`` if an entry is a single number.
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
        """Maximum number of values of an entry. Entries with fewer are marked."""
        return max((len(entry.values) for entry in self.entries.values()), default=0)

    @property
    def caption(self) -> str:
        """The title, and how many values the entries average over."""
        if self.over is None or self.most == 0:
            return self.title
        spread = "mean ± standard deviation over " if self.most > 1 else ""
        return f"{self.title}, {spread}{self.count_of(self.most)}"

    def count_of(self, values: int) -> str:
        """A number of splits, or of whatever else an entry has values for."""
        return f"{values} {self.over}{'s' if values > 1 else ''}"


@dataclass(frozen=True)
class Finding:
    """A claim, the measurement, and whether they agree."""

    claim: str
    where: str
    measured: str
    verdict: Literal["holds", "holds in part", "does not hold", "not measured"]


@dataclass(frozen=True)
class Tally:
    """Counts of entries with a reported result, by comparison with the measured one."""

    reported: int
    within: int
    above: int
    below: int

    @property
    def measured(self) -> int:
        return self.within + self.above + self.below


@dataclass
class Presentation:
    """Everything shown for an experiment.

    Attributes:
        tables: Tables of numbers.
        findings: Claims and whether they hold.
        notes: Sentences: choices, missing results, comparisons.
        draw: Draws the plot; ``None`` if there is none.
    """

    tables: list[Table] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    draw: Callable[[], Figure] | None = None

    @property
    def tally(self) -> Tally:
        """Counts over all tables."""
        entries = [entry for table in self.tables for entry in table.entries.values() if entry.reported is not None]
        counts = Counter(entry.verdict for entry in entries)
        return Tally(len(entries), counts["within"], counts["above"], counts["below"])


def score_of(row: Row) -> float:
    """Test score of a training cell in percent, by its metric."""
    return 100 * float(row["outcome"][f"test_{row['settings']['metric']}"])


def collect(
    rows: Iterable[Row], coordinates: Sequence[str], value: Callable[[Row], float] = score_of
) -> dict[tuple[str, ...], list[float]]:
    """Values by their coordinates, in the order of the splits."""
    found: dict[tuple[str, ...], list[float]] = {}
    for row in sorted(rows, key=lambda row: int(row["index"])):
        found.setdefault(tuple(str(row["at"][name]) for name in coordinates), []).append(value(row))
    return found


def on_common_splits(rows: Sequence[Row], curve: str, along: str) -> list[Row]:
    """Rows of the splits that all points of their curve have. Otherwise points would differ by their splits.

    Args:
        rows: Rows of any curves.
        curve: The coordinate that identifies a curve.
        along: The coordinate that identifies a point of a curve. Points without rows are ignored.
    """
    points: dict[Any, dict[Any, set[int]]] = {}
    for row in rows:
        points.setdefault(row["at"][curve], {}).setdefault(row["at"][along], set()).add(int(row["index"]))
    common = {name: set.intersection(*splits.values()) for name, splits in points.items()}
    return [row for row in rows if int(row["index"]) in common[row["at"][curve]]]


def differences(rows: Iterable[Row], label: str, base: str) -> dict[str, list[float]]:
    """Differences between two rows of a table on the same splits, by column.

    Columns without common splits are left out.
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
    """Build a table of measured and reported results.

    Args:
        title: What the entries are.
        measured: Values by row and column.
        reported: A mean, or a mean and a standard deviation, by row and column.
        rows: Rows to show, in order; other measured rows follow.
        columns: Columns to show, in order; other measured columns follow.
        printed: Number of decimals of the reported results.
        options: Further arguments of :class:`Table`.
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
    """Mean difference of paired values, with a 95 % confidence interval."""

    mean: float
    low: float
    high: float

    @property
    def verdict(self) -> Literal["ahead", "tie", "behind"]:
        return "ahead" if self.low > 0 else "behind" if self.high < 0 else "tie"


def paired_interval(differences: Sequence[float], test_share: float) -> Interval | None:
    """The interval of Nadeau and Bengio (2003), corrected for splits that share nodes.

    Args:
        differences: One difference per split. A single one has no interval.
        test_share: Number of test nodes divided by number of training nodes.
    """
    from scipy import stats

    count = len(differences)
    if count < 2:
        return None
    mean, variance = float(np.mean(differences)), float(np.var(differences, ddof=1))
    half = float(stats.t.ppf(0.975, count - 1)) * math.sqrt((1 / count + test_share) * variance)
    return Interval(mean, mean - half, mean + half)
