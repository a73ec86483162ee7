"""The folder of a converted graph, with features and labels beside it: all of it is mapped, nothing is copied."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from unifilter._internal.array_files import array_writer, open_array, read_manifest, write_array, write_manifest
from unifilter._internal.checks import without_torch_notices
from unifilter._internal.files import whole_folder
from unifilter.data import NodeDataset
from unifilter.graph import EdgeBlock, Graph, convert_edges
from unifilter.graph.graph_folder import MANIFEST as GRAPH_MANIFEST

MANIFEST = "dataset.json"
_GRAPH = "graph"
_ROWS_AT_ONCE = 1 << 16
# The parts of sparse features, in the order in which scipy takes them.
_SPARSE = ("features_values.npy", "features_columns.npy", "features_starts.npy")


def convert_dataset(
    blocks: Iterable[EdgeBlock],
    folder: str | os.PathLike[str],
    *,
    features: str | os.PathLike[str] | None = None,
    labels: str | os.PathLike[str] | None = None,
    num_nodes: int | None = None,
    **options: Any,
) -> Graph | NodeDataset:
    """Write a graph to a folder, and with features a data set that :func:`unifilter.datasets.load_dataset` opens.

    Args:
        blocks: The edges, as :func:`unifilter.datasets.read_edge_blocks` gives them.
        folder: A folder that is not there yet.
        features: A file with one row a node: ``.npy``, or ``.npz`` from ``scipy.sparse.save_npz``. Float32 and float64
            stay as they are, other numbers become float32.
        labels: A ``.npy`` file with a class for each node, -1 where unknown.
        num_nodes: Number of nodes; by default as many as there are rows of features.
        options: Of :func:`unifilter.graph.convert_edges`.
    """
    if features is None:
        if labels is not None:
            raise ValueError("labels come with features: pass both, or convert the edges alone")
        return convert_edges(blocks, folder, num_nodes=num_nodes, **options)
    matrix = _opened_features(Path(features))
    if num_nodes not in (None, matrix.shape[0]):
        raise ValueError(f"{features} has {matrix.shape[0]:,} rows and num_nodes is {num_nodes:,}: leave num_nodes out")
    answers = np.full(matrix.shape[0], -1) if labels is None else _opened_labels(Path(labels), matrix.shape[0])
    with whole_folder(folder) as part:
        convert_edges(blocks, part / _GRAPH, num_nodes=matrix.shape[0], **options)
        files = {"labels.npy": write_array(part / "labels.npy", answers), **_write_features(part, matrix)}
        write_manifest(part / MANIFEST, {"format": 1, "num_features": matrix.shape[1], "files": files})
    return read(Path(folder), verify=False)


def is_converted(folder: Path) -> bool:
    """Whether a folder is one of these, or one of a graph alone."""
    return (folder / MANIFEST).is_file() or (folder / GRAPH_MANIFEST).is_file()


def read(folder: Path, *, verify: bool = True) -> NodeDataset:
    """The data set in a folder that :func:`convert_dataset` wrote."""
    if not (folder / MANIFEST).is_file():
        raise ValueError(f"{folder} holds a graph without features: convert its edges again, with features")
    content = read_manifest(folder / MANIFEST)
    if content.get("format") != 1:
        raise ValueError(f"{folder} has the format {content.get('format')}, and this version reads 1: convert it again")
    files = content["files"]

    def mapped(name: str) -> torch.Tensor:
        with without_torch_notices():
            return torch.from_numpy(open_array(folder / name, files[name], verify=verify))

    graph = Graph.open(folder / _GRAPH, verify=verify)
    if "features.npy" in files:
        features = mapped("features.npy")
    else:
        values, columns, starts = map(mapped, _SPARSE)
        size = (graph.num_nodes, content["num_features"])
        with without_torch_notices():
            features = torch.sparse_csr_tensor(starts, columns, values, size)  # checks the indices
    return NodeDataset(folder.resolve().name, graph, features, mapped("labels.npy"), source=str(folder))


def _opened_features(path: Path) -> Any:
    try:
        if path.suffix == ".npz":
            matrix = sp.csr_array(sp.load_npz(path))
            matrix.sum_duplicates()
        else:
            matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise
    except (ValueError, OSError, EOFError, KeyError) as error:
        raise ValueError(f"{path} cannot be read as features: {error}; pass .npy, or .npz of scipy.sparse") from error
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ValueError(f"{path} holds {matrix.dtype} {list(matrix.shape)}: features are numbers [nodes, features]")
    return matrix


def _opened_labels(path: Path, nodes: int) -> np.ndarray:
    try:
        labels = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} cannot be read as labels: {error}; pass .npy") from error
    if labels.shape != (nodes,) or labels.dtype.kind not in "iu":
        raise ValueError(
            f"{path} holds {labels.dtype} {list(labels.shape)}: labels are whole numbers, one for each of the "
            f"{nodes:,} rows of features"
        )
    return np.asarray(labels, dtype=np.int64)


def _write_features(folder: Path, matrix: Any) -> dict[str, Any]:
    dtype = np.float64 if matrix.dtype == np.float64 else np.float32
    if not isinstance(matrix, np.ndarray):
        arrays = matrix.data.astype(dtype), matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
        return {name: write_array(folder / name, array) for name, array in zip(_SPARSE, arrays, strict=True)}
    with array_writer(folder / "features.npy", dtype, matrix.shape[1:]) as writer:
        for start in range(0, matrix.shape[0], _ROWS_AT_ONCE):
            writer.write(matrix[start : start + _ROWS_AT_ONCE])
        return {"features.npy": writer.finish()}
