"""A folder with two tables, ``nodes`` and ``edges``, each as .csv or .parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from unifilter._internal.extras import require
from unifilter.data import NodeDataset
from unifilter.datasets.formats.columns import encode_features, encode_labels, encode_split
from unifilter.graph import Graph

# Text by definition: read as it stands, so that the ids 1, 01 and NA stay three ids.
_TEXT = ("id", "source", "target", "label", "split")

# How programs write a missing value into a .csv; as a feature it is an error, so that none becomes a category.
_MISSING = ["", "nan", "NaN", "NA", "N/A", "null", "NULL", "None", "<NA>"]


def read(folder: Path) -> NodeDataset:
    """A data set from ``edges`` (columns source, target and, optionally, weight) and ``nodes``.

    In ``nodes``, the column ``id`` is what edges refer to, ``label`` the class (text or whole numbers; empty, nan or -1
    is unknown) and ``split`` train, val, test or nothing; only ``id`` must be there. *Every other column is a feature*:
    numbers as they are, text and true/false one-hot. An empty entry among the features is an error. Other columns of
    ``edges`` are not used. Nodes are numbered in the order of the rows.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}: pass one with nodes.csv and edges.csv (or .parquet)")
    nodes_file, edges_file = (_find(folder, table) for table in ("nodes", "edges"))
    nodes, edges = _load(nodes_file), _load(edges_file)
    _require_columns(nodes_file, nodes, ["id"])
    _require_columns(edges_file, edges, ["source", "target"])
    ids = _ids(nodes_file, nodes, "id")
    if len(ids) == 0:
        raise ValueError(f"{nodes_file.name} has no rows: it needs one for each node")
    number = {name: index for index, name in enumerate(ids)}
    if len(number) < len(ids):
        first = next(index for index, name in enumerate(ids) if number[name] != index)
        raise ValueError(
            f"{nodes_file.name}: id {ids[first]!r} is in rows {first + 1} and {number[ids[first]] + 1}: ids must differ"
        )
    where = nodes_file.name
    labels, class_names = encode_labels(_objects(nodes["label"]), ids, where) if "label" in nodes else _unlabelled(ids)
    splits = {"given": encode_split(_objects(nodes["split"]), labels, ids, where)} if "split" in nodes else {}
    features = {str(name): _values(nodes[name]) for name in nodes.columns if name not in ("id", "label", "split")}
    return NodeDataset(
        name=folder.resolve().name,
        graph=_graph(edges_file, edges, number, nodes_file),
        features=encode_features(features, ids, where),
        labels=torch.from_numpy(labels),
        class_names=class_names,
        splits=splits,
        source=str(folder),
    )


def _find(folder: Path, table: str) -> Path:
    there = [path for path in (folder / f"{table}.csv", folder / f"{table}.parquet") if path.exists()]
    if not there:
        raise FileNotFoundError(f"{folder} has neither {table}.csv nor {table}.parquet: put one of them there")
    if len(there) == 2:
        raise ValueError(f"{folder} has both {table}.csv and {table}.parquet: keep the one that counts")
    return there[0]


def _load(path: Path) -> Any:
    if path.suffix == ".parquet":
        require("tables", what="reading .parquet")
    require("tables", what="reading tables", packages=["pandas"])
    import pandas

    try:
        return pandas.read_parquet(path) if path.suffix == ".parquet" else _read_csv(pandas, path)
    except (ValueError, OSError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(f"{path} cannot be read as a table: {reason}") from error


def _read_csv(pandas: Any, path: Path) -> Any:
    header = pandas.read_csv(path, nrows=0).columns
    # pandas calls a column without a name "Unnamed: 0" and would hand it on as a feature.
    if any(str(name).startswith("Unnamed: ") for name in header):
        raise ValueError("a column has no name; if it is the index of a data frame, write the file with index=False")
    missing = {name: ["", "nan", "NaN"] if name == "label" else [""] if name in _TEXT else _MISSING for name in header}
    text = {name: str for name in header if name in _TEXT}
    return pandas.read_csv(path, dtype=text, na_values=missing, keep_default_na=False, low_memory=False)


def _require_columns(path: Path, table: Any, names: list[str]) -> None:
    for name in names:
        if name not in table:
            listed = ", ".join(map(str, table.columns)) or "none"
            raise ValueError(f"{path.name} has no column {name!r}: rename the one that is meant (there are: {listed})")


def _ids(path: Path, table: Any, column: str) -> list[str]:
    values = _objects(table[column])
    for row, value in enumerate(values, start=1):
        if value is None:
            raise ValueError(f"{path.name}: row {row} has no {column}: fill it in or drop the row")
        if isinstance(value, float):
            raise ValueError(
                f"{path.name}: {column} {value} in row {row} is a decimal number: ids are text or whole numbers"
            )
    return [str(value) for value in values]


def _graph(path: Path, edges: Any, number: dict[str, int], nodes_file: Path) -> Graph:
    ends = {column: _ids(path, edges, column) for column in ("source", "target")}
    for row, pair in enumerate(zip(ends["source"], ends["target"], strict=True), start=1):
        for end in pair:
            if end not in number:
                raise ValueError(
                    f"{path.name}: row {row} ({pair[0]} -> {pair[1]}) names {end!r}, which is no id in "
                    f"{nodes_file.name}: add the node or drop the edge"
                )
    index = np.array([[number[end] for end in ends[column]] for column in ("source", "target")], dtype=np.int64)
    weight = None
    if "weight" in edges:
        weight = _values(edges["weight"])
        if weight.dtype.kind not in "iuf":
            raise ValueError(f"{path.name}: column 'weight' must hold numbers only: correct it or rename the column")
    return Graph.from_edges(index.reshape(2, -1), num_nodes=len(number), edge_weight=weight)


def _unlabelled(ids: list[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    return np.full(len(ids), -1, dtype=np.int64), ()


def _objects(column: Any) -> list[Any]:
    """The entries as Python objects, ``None`` where one is missing."""
    return [None if gone else value for value, gone in zip(column.tolist(), column.isna().tolist(), strict=True)]


def _values(column: Any) -> np.ndarray:
    """The entries as an array: numbers, dates and the like in their own type, everything else as objects."""
    # pandas' nullable numbers and pyarrow's have a kind too, but become objects by themselves.
    kind = getattr(column.dtype, "kind", "O")
    if kind in "iuf":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind in "mMc":
        return np.asarray(column.to_numpy())
    entries = np.empty(len(column), dtype=object)
    entries[:] = _objects(column)
    return entries
