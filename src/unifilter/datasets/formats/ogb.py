"""Reader for node data sets of the Open Graph Benchmark (Hu et al. 2020) in raw form: compressed tables, no header."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import torch

from unifilter.data import NodeDataset, Split, pack_features
from unifilter.graph import Graph

# Files to read, relative to the folder of the data set. The time split is by year of publication.
FILES = (
    "raw/edge.csv.gz",
    "raw/node-feat.csv.gz",
    "raw/node-label.csv.gz",
    "raw/num-node-list.csv.gz",
    "split/time/train.csv.gz",
    "split/time/valid.csv.gz",
    "split/time/test.csv.gz",
)


def read(folder: Path) -> NodeDataset:
    """Read the graph from a folder with ``raw/`` and ``split/time/``, as written by OGB's downloader."""
    edges, features, labels, count, train, val, test = (
        _table(folder / name, np.float32 if "feat" in name else np.int64) for name in FILES
    )
    num_nodes = int(count.sum())
    for what, rows in (("node-feat", len(features)), ("node-label", len(labels))):
        if rows != num_nodes:
            raise ValueError(
                f"raw/{what}.csv.gz in {folder} has {rows} rows, but num-node-list says {num_nodes}: download it again"
            )
    return NodeDataset(
        name=folder.name.replace("_", "-"),
        graph=Graph.from_edges(edges.T, num_nodes=num_nodes),
        features=pack_features(features),
        labels=torch.from_numpy(labels.ravel()),
        splits={"time": (Split("time", 0, np.sort(train.ravel()), np.sort(val.ravel()), np.sort(test.ravel())),)},
        source=str(folder),
    )


def _table(path: Path, dtype: type) -> np.ndarray:
    try:
        table: np.ndarray[Any, Any] = np.loadtxt(path, dtype=dtype, delimiter=",", ndmin=2)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise ValueError(f"{path} is not a complete table of numbers ({error}): download it again") from error
    return table
