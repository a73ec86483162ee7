"""A table becomes a matrix of features, by rules that are learned from training rows."""

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
    """A table as numbers.

    Attributes:
        matrix: ``[num_rows, num_features]`` in float64, dense or, where most entries are zero, a scipy CSR array.
        notes: What a reader of the results should know, such as values that training never saw.
    """

    matrix: np.ndarray | sp.csr_array
    notes: tuple[str, ...]


@dataclass(frozen=True)
class TableEncoder:
    """Turns tables into features, column by column, with statistics of the training rows.

    *Numbers* and *dates* (in days since 1970) are brought to mean 0 and deviation 1; where a column has heavy tails,
    its ranks are mapped to a normal distribution instead. A missing number is replaced by the median, and a second
    column says where that happened. *Categories* have one column each, at most 100; those in fewer than two rows, or
    fewer than one row in a thousand, share the column ``(other)``, which also takes values that training never saw.

    Columns are matched by name. An encoder is plain data and can be stored as JSON.

    Attributes:
        columns: One encoder for each column of the training table, in its order.
        id_name: What the column with the ids was called.

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
        ("column 'city': 1 of 1 rows has a value that was not seen in training ('Paris'): it counts as (other)",)
    """

    columns: tuple[ColumnEncoder, ...]
    id_name: str = "id"

    @classmethod
    def fit(cls, table: Table, rows: Any = None, *, numbers: Numbers = "auto") -> TableEncoder:
        """An encoder with the statistics of some rows.

        Args:
            table: The table.
            rows: The training rows, as indices or a mask; by default all.
            numbers: ``"standard"`` brings every column of numbers to mean 0 and deviation 1, ``"quantile"`` maps its
                ranks to a normal distribution; ``"auto"`` does the latter where a training value is more than eight
                deviations from the mean.

        Raises:
            ValueError: Where text is no category because (almost) every value differs, or where no column differs
                between the rows.
        """
        check_choice("numbers", numbers, ("auto", "standard", "quantile"))
        train = table if rows is None else table.take(np.flatnonzero(as_node_mask(rows, table.num_rows, "rows")))
        if train.num_rows == 0:
            raise ValueError(f"{table.where}: there are no rows to learn from: pass at least one")
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
                f"{table.where} has nothing to learn from ({'; '.join(encoder.notes)}): add a column that describes "
                "the nodes, such as their number of neighbors"
            )
        return encoder

    def encode(self, table: Table) -> Encoded:
        """The features of a table; each row by itself, whatever the other rows are.

        Args:
            table: It must have the columns of the training table, in any order. Columns that are not used may be left
                out.
        """
        self._check(table)
        blocks: list[Any] = []
        notes: list[str] = []
        for column in self.columns:
            if not isinstance(column, UnusedColumn):
                block, said = column.encode(table.columns[column.name])
                blocks.append(block)
                notes.extend(f"column {column.name!r}: {note}" for note in said)
        # A column fills one entry of a row, two where a number is missing. The form depends on no row, so that training
        # and new data have the same.
        if len(blocks) < SPARSE_BELOW * self.num_features:
            return Encoded(sp.hstack([sp.csr_array(block) for block in blocks], format="csr"), tuple(notes))
        dense = [block if isinstance(block, np.ndarray) else block.toarray() for block in blocks]
        return Encoded(np.hstack(dense), tuple(notes))

    @property
    def feature_names_in(self) -> tuple[str, ...]:
        """The columns of the training table."""
        return tuple(column.name for column in self.columns)

    @property
    def feature_names_out(self) -> tuple[str, ...]:
        """What the columns of the matrix are called."""
        return tuple(name for column in self.columns for name in column.features)

    @property
    def groups(self) -> tuple[int, ...]:
        """For each column of the matrix, the position in ``feature_names_in`` of the column it is from."""
        return tuple(place for place, column in enumerate(self.columns) for _ in column.features)

    @property
    def num_features(self) -> int:
        return sum(len(column.features) for column in self.columns)

    @property
    def kinds(self) -> dict[str, str]:
        """What each column is: number, date or category; or, where it is not used, missing, constant or rare."""
        return {column.name: column.kind for column in self.columns}

    @property
    def notes(self) -> tuple[str, ...]:
        """Which columns are not used, and why."""
        return tuple(column.note for column in self.columns if isinstance(column, UnusedColumn))

    def to_dict(self) -> dict[str, Any]:
        """Everything the encoder knows, as JSON holds it."""
        return {"id_name": self.id_name, "columns": [column_to_dict(column) for column in self.columns]}

    @classmethod
    def from_dict(cls, stored: Any) -> TableEncoder:
        """The encoder that :meth:`to_dict` stored.

        Raises:
            ValueError: Where that is not what is stored.
        """
        if not isinstance(stored, Mapping) or stored.keys() != {"id_name", "columns"}:
            raise ValueError("a stored table encoder has the entries 'id_name' and 'columns': the file is damaged")
        if not isinstance(stored["id_name"], str) or not isinstance(stored["columns"], list):
            raise ValueError("'id_name' of a stored table encoder is text, 'columns' a list: the file is damaged")
        encoder = cls(tuple(map(column_from_dict, stored["columns"])), stored["id_name"])
        if len(encoder.kinds) < len(encoder.columns) or encoder.num_features == 0:
            raise ValueError("a stored table encoder has features, and columns of different names: the file is damaged")
        return encoder

    def _check(self, table: Table) -> None:
        problems = Problems()
        used = [column.name for column in self.columns if not isinstance(column, UnusedColumn)]
        lacking = [name for name in used if name not in table.columns]
        extra = [name for name in table.names if name not in self.kinds]
        if lacking:
            problems.add(f"{table.where} lacks {_named(lacking)}, which training had: add or rename what is meant")
        if extra:
            problems.add(
                f"{table.where} has {_named(extra)}, which training did not have: drop or rename what is extra"
            )
        for column in self.columns:
            if column.name in table.columns:
                with problems.collect():
                    check_kind(column, table.columns[column.name], table)
        problems.raise_if_any()


def _named(names: Sequence[str]) -> str:
    return f"the column{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}"
