"""Tables with one row per node: named columns of numbers, dates and categories."""

from __future__ import annotations

import copy
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unifilter._internal.problems import Problems
from unifilter.data.column_values import as_categories, check_categories, objects, recognize
from unifilter.data.frames import names_rows, series_entries, series_values
from unifilter.data.node_ids import number_ids, read_ids


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Named columns with one row per node. :class:`~unifilter.data.TableEncoder` turns them into features.

    Create a table with :meth:`from_frame` or :meth:`from_columns`, which recognize the type of each column.

    Attributes:
        columns: Values by column name. A column is float64 (numbers; NaN is missing), datetime64[ns] (dates; NaT is
            missing) or an array of objects (categories: str or bool; ``None`` is missing).
        ids: Ids of the rows, an array of str; ``None`` if the rows have no names.
        where: Name of the table in messages, such as its file name.
        id_name: Name of the column with the ids.

    Example:
        >>> from unifilter.data import Table
        >>> table = Table.from_columns({"age": ["31", "45"], "city": ["Bonn", None]}, ids=["ann", "bob"])
        >>> table.columns["age"]
        array([31., 45.])
        >>> table
        Table(rows=2, columns=['age', 'city'])
    """

    columns: Mapping[str, np.ndarray]
    ids: np.ndarray | None = None
    where: str = "x"
    id_name: str = "id"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", dict(self.columns))
        if self.ids is not None:
            object.__setattr__(self, "ids", objects([str(name) for name in self.ids]))
        if not self.columns:
            raise ValueError(
                f"{self.where} has no feature column: add one that describes the nodes, such as their number of "
                "neighbors"
            )
        problems = Problems()
        for name, values in self.columns.items():
            if len(values) != self.num_rows:
                problems.add(
                    f"{self.where}: column {name!r} has {len(values)} rows, not {self.num_rows}: pass one value per row"
                )
            elif not _is_column(values):
                problems.add(
                    f"{self.where}: column {name!r} contains {values.dtype}, not finite float64, datetime64[ns], or "
                    "objects that are str, bool or None: build the table with Table.from_columns"
                )
        problems.raise_if_any()

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, Any],
        ids: Any = None,
        where: str = "x",
        id_name: str = "id",
        *,
        categorical: Collection[str] = (),
    ) -> Table:
        """Create a table from columns of any type: numbers, dates, text or booleans, in arrays or lists.

        Text is parsed: ``"12"`` and ``"1,200.50"`` are numbers, ``"2024-03-01"`` and ``"2024-03-01 12:30"`` are dates.
        ``None``, NaN and empty text are missing values. A single error lists all problems of the columns.

        Args:
            columns: Values by column name; ``None`` is missing.
            ids: Ids of the rows; optional.
            where: Name of the table in messages.
            id_name: Name of the column with the ids.
            categorical: Names of columns to treat as categories even if their values look like numbers or dates.
        """
        problems, recognized = Problems(), {}
        for name, values in columns.items():
            try:
                recognized[name] = (
                    as_categories(values) if name in categorical else recognize(values, lambda row: _row_name(ids, row))
                )
            except ValueError as error:
                problems.add(f"{where}: column {name!r} {error}")
        problems.check_too(lambda: _check_categories(recognized, where))
        problems.raise_if_any()
        return cls(recognized, ids, where, id_name)

    @classmethod
    def from_frame(cls, frame: Any, where: str = "x", *, id_name: str = "id") -> Table:
        """Create a table from a pandas DataFrame.

        The ids are the column ``id_name``; without one, the index, unless it only counts the rows or has duplicates.
        A column of pandas' type ``category`` contains categories even if they look like numbers. Times with a zone are
        converted to UTC.

        Args:
            frame: The DataFrame.
            where: Name of the table in messages.
            id_name: Name of the column with the ids.
        """
        problems = Problems()
        names = [str(name) for name in frame.columns]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            problems.add(f"{where} has several columns named {', '.join(map(repr, repeated))}: rename them")
        ids = None
        if id_name in names:
            with problems.collect():
                ids = read_ids(series_entries(frame.iloc[:, names.index(id_name)]), id_name, where)
                number_ids(ids, where)
        elif names_rows(frame.index):
            ids, id_name = [str(name) for name in frame.index], str(frame.index.name or id_name)
        columns = {name: frame.iloc[:, place] for place, name in enumerate(names) if name != id_name}
        categorical = [name for name, column in columns.items() if hasattr(column.dtype, "categories")]
        with problems.collect():
            values = {name: series_values(column) for name, column in columns.items()}
            table = cls.from_columns(values, ids, where, id_name, categorical=categorical)
        problems.raise_if_any()
        return table

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rows={self.num_rows}, columns={list(self.columns)})"

    @property
    def num_rows(self) -> int:
        return len(next(iter(self.columns.values()))) if self.ids is None else len(self.ids)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    def row_name(self, row: int) -> str:
        """Name of a row in messages."""
        return _row_name(self.ids, row)

    def check_categories(self) -> None:
        """Check that text columns of a training table repeat their values, as categories must."""
        _check_categories(self.columns, self.where)

    def take(self, rows: Any) -> Table:
        """The table with some of its rows.

        Args:
            rows: Row numbers or a boolean mask, as for numpy indexing.
        """
        other = copy.copy(self)
        object.__setattr__(other, "columns", {name: values[rows] for name, values in self.columns.items()})
        object.__setattr__(other, "ids", None if self.ids is None else self.ids[rows])
        return other

    def update_digest(self, digest: Any) -> None:
        """Add the ids and the columns to a :mod:`hashlib` digest. The order of the columns does not matter."""
        ids = None if self.ids is None else self.ids.tolist()
        digest.update(json.dumps(["table", self.num_rows, ids]).encode())
        for name in sorted(self.columns):
            values = self.columns[name]
            digest.update(json.dumps([name, values.dtype.kind]).encode())
            if values.dtype.kind == "f":
                # Normalize NaN and negative zero.
                digest.update((np.where(np.isnan(values), np.nan, values) + 0.0).astype("<f8").tobytes())
            elif values.dtype.kind == "M":
                digest.update(values.astype("<i8").tobytes())
            else:
                digest.update(json.dumps(values.tolist()).encode())


def _row_name(ids: Any, row: int) -> str:
    return f"node {row}" if ids is None else f"node {str(ids[row])!r}"


def _check_categories(columns: Mapping[str, np.ndarray], where: str) -> None:
    problems = Problems()
    for name, values in columns.items():
        if values.dtype == object:
            try:
                check_categories([str(value) for value in values if value is not None])
            except ValueError as error:
                problems.add(f"{where}: column {name!r} {error}")
    problems.raise_if_any()


def _is_column(values: np.ndarray) -> bool:
    if values.dtype == np.float64:
        return not bool(np.isinf(values).any())
    if values.dtype == np.dtype("datetime64[ns]"):
        return True
    return values.dtype == object and all(value is None or isinstance(value, (str, bool)) for value in values)
