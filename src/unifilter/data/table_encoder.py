"""Encoding of a table as a feature matrix, fitted on training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from unifilter._internal.checks import as_node_mask, check_choice
from unifilter._internal.problems import Problems
from unifilter.data.column_encoders import ColumnEncoder, Numbers, UnusedColumn, check_kind, fit_column
from unifilter.data.features import SPARSE_BELOW
from unifilter.data.stored_columns import column_from_dict, column_to_dict
from unifilter.data.table import Table


@dataclass(frozen=True, eq=False)
class Encoded:
    """An encoded table.

    Attributes:
        matrix: ``[num_rows, num_features]`` in float64: dense, or a scipy CSR array if most entries are zero.
        notes: Remarks for the user, for example on values that do not occur in training.
    """

    matrix: np.ndarray | sp.csr_array
    notes: tuple[str, ...]


@dataclass(frozen=True)
class TableEncoder:
    """Encodes tables as features, column by column, with statistics of the training rows.

    *Numbers* and *dates* (in days since 1970) are standardized to mean 0 and standard deviation 1; if a column has
    heavy tails, its ranks are mapped to a normal distribution instead. A missing number is replaced by the median, and
    a second column marks it. *Categories* have one column each, at most 100. Rare categories, in fewer than two rows
    or fewer than one row in a thousand, share the column ``(other)``, which also takes values that do not occur in
    training.

    Columns are matched by name. An encoder is plain data and can be stored as JSON.

    Attributes:
        columns: One encoder for each column of the training table, in order.
        id_name: Name of the column with the ids.

    Example:
        >>> from unifilter.data import Table, TableEncoder
        >>> train = Table.from_columns({"age": [30, 50, 30, 50], "city": ["Bonn", "Bonn", "Rome", "Rome"]})
        >>> encoder = TableEncoder.fit(train)
        >>> encoder.feature_names_out
        ('age', 'city=Bonn', 'city=Rome', 'city=(other)')
        >>> new = encoder.encode(Table.from_columns({"city": ["Paris"], "age": [60]}))
        >>> new.matrix
        array([[2., 0., 0., 1.]])
        >>> new.notes
        ("column 'city': 1 of 1 rows has a value that does not occur in training ('Paris'): it is treated as (other)",)
    """

    columns: tuple[ColumnEncoder, ...]
    id_name: str = "id"

    @classmethod
    def fit(cls, table: Table, rows: Any = None, *, numbers: Numbers = "auto") -> TableEncoder:
        """Fit an encoder on the training rows of a table.

        Args:
            table: The table.
            rows: The training rows, as indices or a mask. Default: all.
            numbers: ``"standard"`` standardizes every column of numbers to mean 0 and standard deviation 1,
                ``"quantile"`` maps its ranks to a normal distribution; ``"auto"`` uses ``"quantile"`` if a training
                value is more than eight standard deviations from the mean.

        Raises:
            ValueError: If text is not categorical because (almost) all values are distinct, or if every column is
                constant.
        """
        check_choice("numbers", numbers, ("auto", "standard", "quantile"))
        train = table if rows is None else table.take(np.flatnonzero(as_node_mask(rows, table.num_rows, "rows")))
        if train.num_rows == 0:
            raise ValueError(f"{table.where}: there are no training rows: pass at least one")
        problems, columns = Problems(), []
        for name, values in train.columns.items():
            try:
                columns.append(fit_column(name, values, numbers))
            except ValueError as error:
                problems.add(f"{table.where}: column {name!r} {error}")
        problems.raise_if_any()
        encoder = cls(tuple(columns), table.id_name)
        if encoder.num_features == 0:
            raise ValueError(
                f"{table.where} has no usable column ({'; '.join(encoder.notes)}): add a column that describes "
                "the nodes, such as their number of neighbors"
            )
        return encoder

    def encode(self, table: Table) -> Encoded:
        """Encode a table. Each row is encoded independently of the others.

        Args:
            table: A table with the columns of the training table, in any order. Columns that the encoder does not use
                may be missing.
        """
        self._check(table)
        blocks: list[Any] = []
        notes: list[str] = []
        for column in self.columns:
            if not isinstance(column, UnusedColumn):
                block, said = column.encode(table.columns[column.name])
                blocks.append(block)
                notes.extend(f"column {column.name!r}: {note}" for note in said)
        # A column fills one entry per row, or two for a missing number. The choice depends on no row, so that training
        # and new data get the same layout.
        if len(blocks) < SPARSE_BELOW * self.num_features:
            return Encoded(sp.hstack([sp.csr_array(block) for block in blocks], format="csr"), tuple(notes))
        dense = [block if isinstance(block, np.ndarray) else block.toarray() for block in blocks]
        return Encoded(np.hstack(dense), tuple(notes))

    @property
    def feature_names_in(self) -> tuple[str, ...]:
        """Names of the columns of the training table."""
        return tuple(column.name for column in self.columns)

    @property
    def feature_names_out(self) -> tuple[str, ...]:
        """Names of the columns of the matrix."""
        return tuple(name for column in self.columns for name in column.features)

    @property
    def groups(self) -> tuple[int, ...]:
        """For each column of the matrix, the index in ``feature_names_in`` of the column it comes from."""
        return tuple(place for place, column in enumerate(self.columns) for _ in column.features)

    @property
    def num_features(self) -> int:
        return sum(len(column.features) for column in self.columns)

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each column: number, date or category; missing, constant or rare if it is not used."""
        return {column.name: column.kind for column in self.columns}

    @property
    def notes(self) -> tuple[str, ...]:
        """The columns that are not used, with the reason."""
        return tuple(column.note for column in self.columns if isinstance(column, UnusedColumn))

    def to_dict(self) -> dict[str, Any]:
        """The encoder as a JSON-serializable dictionary."""
        return {"id_name": self.id_name, "columns": [column_to_dict(column) for column in self.columns]}

    @classmethod
    def from_dict(cls, stored: Any) -> TableEncoder:
        """Restore an encoder from :meth:`to_dict`.

        Raises:
            ValueError: If the dictionary is not valid.
        """
        if not isinstance(stored, Mapping) or stored.keys() != {"id_name", "columns"}:
            raise ValueError("a stored table encoder needs the entries 'id_name' and 'columns': the file is damaged")
        if not isinstance(stored["id_name"], str) or not isinstance(stored["columns"], list):
            raise ValueError("'id_name' of a stored table encoder must be text, 'columns' a list: the file is damaged")
        encoder = cls(tuple(map(column_from_dict, stored["columns"])), stored["id_name"])
        if len(encoder.kinds) < len(encoder.columns) or encoder.num_features == 0:
            raise ValueError("a stored table encoder needs features and columns of distinct names: the file is damaged")
        return encoder

    def _check(self, table: Table) -> None:
        problems = Problems()
        used = [column.name for column in self.columns if not isinstance(column, UnusedColumn)]
        lacking = [name for name in used if name not in table.columns]
        extra = [name for name in table.names if name not in self.kinds]
        if lacking:
            problems.add(f"{table.where} lacks {_named(lacking)}, which training had: add or rename")
        if extra:
            problems.add(f"{table.where} has {_named(extra)}, which training did not have: drop or rename")
        for column in self.columns:
            if column.name in table.columns:
                with problems.collect():
                    check_kind(column, table.columns[column.name], table)
        problems.raise_if_any()


def _named(names: Sequence[str]) -> str:
    return f"the column{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}"
