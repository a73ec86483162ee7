"""Reader for a folder with two tables, ``nodes`` and ``edges``, each as .csv or .parquet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unifilter._internal.extras import require
from unifilter._internal.problems import Problems
from unifilter.data import NodeDataset
from unifilter.data.column_values import recognize
from unifilter.data.frames import series_entries, series_values
from unifilter.data.node_ids import number_ids, read_ids
from unifilter.datasets.formats.archives import check_claim
from unifilter.datasets.formats.columns import read_node_columns
from unifilter.graph import Direction, Graph

# These columns are text: read without conversion, so that the ids 1, 01 and NA stay distinct.
_TEXT = {"nodes": ("id", "label", "split"), "edges": ("source", "target")}

# Common spellings of a missing value in a .csv.
_MISSING = ["", "nan", "NaN", "NA", "N/A", "null", "NULL", "None", "<NA>"]


def read(folder: Path, *, direction: Direction = "undirected") -> NodeDataset:
    """Read a data set from ``edges`` (columns source, target and, optionally, weight) and ``nodes``.

    In ``nodes``, the column ``id`` is required; edges refer to it. ``label`` is the class (text or integers; empty, nan
    or -1 means unknown) and ``split`` is train, val, test or empty. To predict a number instead of a class, name its
    column ``target``; for several labels per node use columns ``label:NAME`` of 1 and 0. *Every other column describes
    the node* and becomes features, see :class:`~unifilter.data.TableEncoder`. Other columns of ``edges`` are ignored.
    Nodes are numbered in the order of the rows.

    Raises:
        ValueError: With one line per mistake in either table.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}: pass one with nodes.csv and edges.csv (or .parquet)")
    nodes_file, edges_file = (_find(folder, table) for table in ("nodes", "edges"))
    problems = Problems()
    with problems.collect():
        nodes = _load(nodes_file)
    with problems.collect():
        edges = _load(edges_file)
    problems.raise_if_any()
    where, ids = nodes_file.name, None
    if len(nodes) == 0:
        problems.add(f"{where} has no rows: add one row per node")
    with problems.collect():
        _require_column(where, nodes, "id")
        ids = read_ids(series_entries(nodes["id"]), "id", where)
        number = number_ids(ids, where)
    columns = {
        name: series_entries(nodes[name]) if name in _TEXT["nodes"] else series_values(nodes[name])
        for name in nodes.columns
        if name != "id"
    }
    categorical = [name for name in columns if hasattr(nodes[name].dtype, "categories")]
    with problems.collect():
        described = read_node_columns(columns, ids, len(nodes), where, categorical)
        problems.check_too(described.table.check_categories)
    with problems.collect():
        sources, targets, weight = _read_edges(edges_file.name, edges, ids, where)
    problems.raise_if_any()
    ends = np.array([[number[end] for end in side] for side in (sources, targets)], dtype=np.int64)
    return NodeDataset(
        name=folder.resolve().name,
        graph=Graph.from_edges(ends.reshape(2, -1), num_nodes=len(number), edge_weight=weight, direction=direction),
        features=None,
        **described.answers(),
        splits=described.splits,
        source=str(folder),
        table=described.table,
    )


def _find(folder: Path, table: str) -> Path:
    there = [path for path in (folder / f"{table}.csv", folder / f"{table}.parquet") if path.exists()]
    if not there:
        raise FileNotFoundError(f"{folder} has neither {table}.csv nor {table}.parquet: add one of them")
    if len(there) == 2:
        raise ValueError(f"{folder} has both {table}.csv and {table}.parquet: delete one of them")
    return there[0]


def _load(path: Path) -> Any:
    if path.suffix == ".parquet":
        require("tables", what="reading .parquet")
    require("tables", what="reading tables", packages=["pandas"])
    import pandas

    try:
        table = _read_parquet(pandas, path) if path.suffix == ".parquet" else _read_csv(pandas, path)
    except (ValueError, OSError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(f"{path} cannot be read as a table: {reason}") from error
    return table.set_axis(table.columns.map(str), axis=1)


def _read_parquet(pandas: Any, path: Path) -> Any:
    import pyarrow.parquet

    stored = pyarrow.parquet.read_metadata(path)
    # A column with a single value takes a few bytes, however many rows it has.
    check_claim(path, 8 * stored.num_rows * max(stored.num_columns, 1), f"{stored.num_rows:,} rows")
    return pandas.read_parquet(path)


def _read_csv(pandas: Any, path: Path) -> Any:
    # Read as a row, because pandas changes empty and duplicate names.
    header = pandas.read_csv(path, nrows=1, header=None, dtype=str, keep_default_na=False).iloc[0].tolist()
    if "" in header:
        raise ValueError("a column has no name; if it is the index of a data frame, write the file with index=False")
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"two columns are named {twice!r}; rename one of them")
    text = dict.fromkeys(_TEXT[path.stem], str)
    missing = {name: ["", "nan", "NaN"] if name == "label" else [""] if name in text else _MISSING for name in header}
    text = {name: kind for name, kind in text.items() if name in header}
    return pandas.read_csv(path, dtype=text, na_values=missing, keep_default_na=False, low_memory=False)


def _require_column(where: str, table: Any, name: str) -> None:
    if name not in table:
        listed = ", ".join(table.columns) or "none"
        raise ValueError(f"{where} has no column {name!r}: add it, or rename a column (found: {listed})")


def _read_edges(
    where: str, edges: Any, ids: Sequence[str] | None, nodes_where: str
) -> tuple[list[str], list[str], np.ndarray | None]:
    """The ids at both ends of the edges, and the weights if there are any.

    Args:
        where: The table of edges, for messages.
        edges: The table of edges.
        ids: Node ids; ``None`` if they could not be read, so that the ends of edges cannot be checked.
        nodes_where: The table of nodes, for messages.
    """
    problems = Problems()
    ends: dict[str, list[str]] = {}
    for column in ("source", "target"):
        with problems.collect():
            _require_column(where, edges, column)
            ends[column] = read_ids(series_entries(edges[column]), column, where)
    pairs = list(zip(*ends.values(), strict=True)) if len(ends) == 2 else None
    if ids is not None and pairs is not None:
        known = set(ids)
        unknown = [row for row, pair in enumerate(pairs) if not known.issuperset(pair)]
        if unknown:
            first = pairs[unknown[0]]
            end = next(end for end in first if end not in known)
            problems.add(
                f"{where}: row {unknown[0] + 1} ({first[0]} -> {first[1]}) contains {end!r}, which is not an id in "
                f"{nodes_where}: add the node or drop the edge{_in_all(len(unknown))}"
            )
    weight = None
    if "weight" in edges:
        with problems.collect():
            weight = _weights(where, edges["weight"], pairs)
    problems.raise_if_any()
    return ends["source"], ends["target"], weight


def _weights(where: str, column: Any, pairs: Sequence[tuple[str, ...]] | None) -> np.ndarray:
    """Edge weights, non-negative numbers. ``pairs`` are the ends of the edges, for messages."""
    try:
        weight = recognize(series_values(column), lambda row: f"row {row + 1}")
    except ValueError as error:
        raise ValueError(f"{where}: column 'weight' {error}") from None
    if weight.dtype.kind != "f":
        raise ValueError(f"{where}: column 'weight' must contain only numbers: correct it or rename the column")
    problems = Problems()
    for wrong, what in ((np.isnan(weight), "no weight: fill it in"), (weight < 0, "a negative weight: correct it")):
        if wrong.any():
            row = int(wrong.argmax())
            edge = f"row {row + 1}" if pairs is None else f"row {row + 1} ({' -> '.join(pairs[row])})"
            problems.add(f"{where}: {edge} has {what}, or drop the edge{_in_all(int(wrong.sum()))}")
    problems.raise_if_any()
    return weight


def _in_all(count: int) -> str:
    return f" ({count} such rows in all)" if count > 1 else ""
