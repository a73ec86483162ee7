"""Encoders that turn columns of a table into numeric features. They are fitted on training rows and are plain data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri

from unifilter.data.column_values import check_categories, objects, shown
from unifilter.data.table import Table

Numbers = Literal["auto", "standard", "quantile"]

# Fewer than one normally distributed value in 10^15 is this far out. A few such values would dominate the scale.
HEAVY_TAIL = 8.0
# The number of quantiles scikit-learn keeps by default. Values in between are interpolated.
_MOST_QUANTILES = 1000
# The normal quantile at which scikit-learn's QuantileTransformer clips, about 5.2.
_LARGEST_SCORE = float(ndtri(1 - 1e-7))

# A category needs at least two training rows, and at least one in a thousand.
_FEWEST_ROWS, _SMALLEST_SHARE = 2, 0.001
_MOST_CATEGORIES = 100

_DAY = np.timedelta64(1, "D")
_WORDS = {"number": "numbers", "date": "dates", "category": "categories"}
_KIND_OF_TYPE = {"f": "number", "M": "date", "O": "category"}


@dataclass(frozen=True)
class NumberEncoder:
    """Encodes numbers or dates: imputes missing values with the median, then standardizes or maps to normal quantiles.

    Attributes:
        name: Name of the column.
        kind: ``"number"``, or ``"date"`` (in days since 1970).
        median: Replaces missing values.
        missing: Whether the training data has missing values. If so, a second column marks them.
        mean, deviation: Mean and standard deviation of the imputed training values. If the deviation is 0, only the
            second column carries information.
        quantiles: Quantiles of the training values, mapped to those of the normal distribution, if the column has heavy
            tails; otherwise empty.
    """

    name: str
    kind: Literal["number", "date"]
    median: float
    missing: bool
    mean: float
    deviation: float
    quantiles: tuple[float, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        return (self.name, f"{self.name} (missing)") if self.missing else (self.name,)

    def encode(self, values: np.ndarray) -> tuple[np.ndarray, list[str]]:
        numbers = _as_numbers(values)
        gaps = np.isnan(numbers)
        scaled = self._scaled(np.where(gaps, self.median, numbers))
        notes = []
        if gaps.any() and not self.missing:
            notes.append(_note(gaps, "no value, although none was missing in training", "the median"))
        return (np.stack([scaled, gaps], axis=1) if self.missing else scaled[:, None]), notes

    def _scaled(self, numbers: np.ndarray) -> np.ndarray:
        if self.deviation == 0:
            return np.zeros_like(numbers)
        return normal_scores(numbers, self.quantiles) if self.quantiles else (numbers - self.mean) / self.deviation


@dataclass(frozen=True)
class CategoryEncoder:
    """One-hot encoding: a column per category, one for missing values, if there were any, and one for other values.

    Attributes:
        name: Name of the column.
        categories: Values with their own column.
        rare: Other values that occurred in training.
        missing: Whether the training data has missing values. If so, they have a column.
    """

    name: str
    categories: tuple[str, ...]
    rare: tuple[str, ...]
    missing: bool
    kind: ClassVar[Literal["category"]] = "category"

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={value}" for value in (*self.categories, *["(missing)"] * self.missing, "(other)"))

    def encode(self, values: np.ndarray) -> tuple[sp.csr_array, list[str]]:
        place: dict[Any, int] = {value: index for index, value in enumerate(self.categories)}
        other = len(self.features) - 1
        if self.missing:
            place[None] = len(self.categories)
        text = _as_text(values)
        columns = np.array([place.get(value, other) for value in text], dtype=np.int64)
        notes = []
        gaps = np.array([value is None for value in text], dtype=bool)
        if gaps.any() and not self.missing:
            notes.append(_note(gaps, "no value, although none was missing in training", "(other)"))
        seen = {None, *self.categories, *self.rare}
        unseen = np.array([value not in seen for value in text], dtype=bool)
        if unseen.any():
            named = list(dict.fromkeys(value for value in text if value not in seen))
            listed = ", ".join([*map(shown, named[:3]), *["..."] * (len(named) > 3)])
            notes.append(_note(unseen, f"a value that does not occur in training ({listed})", "(other)"))
        starts = np.arange(len(text) + 1)
        return sp.csr_array((np.ones(len(text)), columns, starts), shape=(len(text), other + 1)), notes


@dataclass(frozen=True)
class UnusedColumn:
    """A column without information.

    Attributes:
        name: Name of the column.
        kind: ``"missing"`` if no training row has a value, ``"constant"`` if all have the same value, ``"rare"`` if no
            value occurs often enough to be a category.
    """

    name: str
    kind: Literal["missing", "constant", "rare"]
    features: ClassVar[tuple[str, ...]] = ()

    @property
    def note(self) -> str:
        reason = {
            "missing": "no training row has a value",
            "constant": "all training rows have the same value",
            "rare": "no value occurs in enough training rows",
        }[self.kind]
        return f"column {self.name!r} is not used: {reason}"


ColumnEncoder = NumberEncoder | CategoryEncoder | UnusedColumn


def fit_column(name: str, values: np.ndarray, numbers: Numbers) -> ColumnEncoder:
    """Fit the encoder of one column.

    Args:
        name: Name of the column.
        values: Its values in the training rows, as in :class:`Table`.
        numbers: Scaling of numbers.

    Raises:
        ValueError: If the column is text that cannot serve as categories. The message completes a sentence that
            starts with the name of the column.
    """
    if _is_missing(values).all():
        return UnusedColumn(name, "missing")
    if values.dtype == object:
        return _fit_categories(name, values)
    return _fit_numbers(name, values, numbers)


def check_kind(encoder: ColumnEncoder, values: np.ndarray, table: Table) -> None:
    """Check that the values have the same kind as in training. A column without values matches any kind."""
    found, there = _KIND_OF_TYPE[values.dtype.kind], ~_is_missing(values)
    if isinstance(encoder, UnusedColumn) or found == encoder.kind or not there.any():
        return
    row = int(there.argmax())
    value = str(values[row]) if values.dtype.kind == "M" else values[row : row + 1].tolist()[0]
    raise ValueError(
        f"{table.where}: column {encoder.name!r} contained {_WORDS[encoder.kind]} in training and now contains "
        f"{_WORDS[found]}, first {shown(value)} at {table.row_name(row)}: use the format of the training data"
    )


def normal_scores(numbers: np.ndarray, quantiles: Sequence[float]) -> np.ndarray:
    """Map numbers to normal quantiles by their rank in training, as scikit-learn's QuantileTransformer does.

    Equal numbers get their middle rank. scikit-learn treats the smallest and the largest number differently. Here all
    numbers are treated alike, so that a column with many zeros and some large numbers is centered.
    """
    knots, ranks = np.array(quantiles), np.linspace(0, 1, len(quantiles))
    # Interpolated from both sides: where quantiles repeat, one side gives the highest rank and the other the lowest.
    rank = 0.5 * (np.interp(numbers, knots, ranks) - np.interp(-numbers, -knots[::-1], -ranks[::-1]))
    return np.asarray(np.clip(ndtri(rank), -_LARGEST_SCORE, _LARGEST_SCORE))


def _fit_numbers(name: str, values: np.ndarray, how: Numbers) -> ColumnEncoder:
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import QuantileTransformer, StandardScaler

    numbers = _as_numbers(values)
    gaps = np.isnan(numbers)
    differs = bool(np.ptp(numbers[~gaps]) > 0)
    if not differs and not gaps.any():
        return UnusedColumn(name, "constant")
    imputer = SimpleImputer(strategy="median")
    filled = imputer.fit_transform(numbers[:, None])
    scaler = StandardScaler().fit(filled)
    heavy = how == "auto" and bool((np.abs(scaler.transform(filled)) > HEAVY_TAIL).any())
    quantiles: tuple[float, ...] = ()
    if differs and (heavy or how == "quantile"):
        # Use all rows: by default scikit-learn draws a random sample of ten thousand.
        ranks = QuantileTransformer(n_quantiles=min(_MOST_QUANTILES, len(filled)), subsample=len(filled))
        quantiles = tuple(ranks.fit(filled).quantiles_[:, 0].tolist())
    return NumberEncoder(
        name,
        "date" if values.dtype.kind == "M" else "number",
        median=float(imputer.statistics_[0]),
        missing=bool(gaps.any()),
        mean=float(scaler.mean_[0]),
        deviation=float(scaler.scale_[0]) if differs else 0.0,
        quantiles=quantiles,
    )


def _fit_categories(name: str, values: np.ndarray) -> ColumnEncoder:
    from sklearn.preprocessing import OneHotEncoder

    text = [value for value in _as_text(values) if value is not None]
    found = len(set(text))
    missing = len(text) < len(values)
    if found == 1 and not missing:
        return UnusedColumn(name, "constant")
    check_categories(text)
    fewest = max(_FEWEST_ROWS, math.ceil(_SMALLEST_SHARE * len(values)))
    # scikit-learn's limit includes the column for infrequent values.
    one_hot = OneHotEncoder(
        min_frequency=fewest, max_categories=_MOST_CATEGORIES + 1, handle_unknown="infrequent_if_exist"
    ).fit(objects(text)[:, None])
    infrequent = one_hot.infrequent_categories_[0]
    rare = set() if infrequent is None else set(infrequent.tolist())
    if len(rare) == found and not missing:
        return UnusedColumn(name, "rare")
    categories = tuple(value for value in one_hot.categories_[0].tolist() if value not in rare)
    return CategoryEncoder(name, categories, tuple(sorted(rare)), missing)


def _as_numbers(values: np.ndarray) -> np.ndarray:
    """Numbers unchanged, dates as days since 1970; NaN means missing."""
    if values.dtype.kind == "f":
        return values
    if values.dtype.kind == "M":
        days: np.ndarray = (values - np.datetime64(0, "ns")) / _DAY
        return days
    return np.full(len(values), np.nan)  # check_kind ensures that there are no values


def _as_text(values: np.ndarray) -> list[str | None]:
    if values.dtype != object:
        return [None] * len(values)  # check_kind ensures that there are no values
    return [None if value is None else str(value) for value in values]


def _is_missing(values: np.ndarray) -> np.ndarray:
    if values.dtype == object:
        return np.array([value is None for value in values], dtype=bool)
    return np.asarray(np.isnat(values) if values.dtype.kind == "M" else np.isnan(values))


def _note(chosen: np.ndarray, what: str, counted_as: str) -> str:
    count = int(chosen.sum())
    has, treated = ("has", "it is treated") if count == 1 else ("have", "they are treated")
    return f"{count:,} of {len(chosen):,} rows {has} {what}: {treated} as {counted_as}"
