"""Blocks of columns of a feature matrix, from memory or from a file larger than memory."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from unifilter._internal.array_files import CHUNK_BYTES
from unifilter._internal.checks import as_feature_matrix, without_torch_notices


class FeatureColumns(ABC):
    """A feature matrix that is read in blocks of columns.

    Attributes:
        shape: Numbers of nodes and columns.
        dtype: Data type of the blocks.
    """

    shape: tuple[int, int]
    dtype: torch.dtype

    @abstractmethod
    def block(self, start: int, stop: int) -> Tensor:
        """Columns in the form that :func:`unifilter.kernels.lanczos.lanczos` accepts, dense or CSC."""

    @abstractmethod
    def facts(self) -> tuple[str, np.ndarray]:
        """A digest of all entries, which must be finite, and the number of non-zeros per column."""

    def block_bytes(self, width: int) -> int:
        """Bytes of a block of ``width`` columns."""
        return self.shape[0] * width * self.dtype.itemsize


def feature_columns(x: Any, num_nodes: int) -> FeatureColumns:
    """Columns of user input: an array or tensor, dense or sparse, or the path of a ``.npy`` file."""
    if isinstance(x, (str, os.PathLike)):
        path = Path(x)
        try:
            mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise ValueError(f"{path} cannot be read as features: {error}; pass a .npy file") from error
        return _FileColumns(path, mapped, num_nodes)
    if isinstance(x, np.memmap) and x.filename is not None and _lies_in_its_file(x):
        return _FileColumns(Path(x.filename), x, num_nodes)
    matrix = as_feature_matrix(x, num_nodes)
    if matrix.device.type != "cpu":
        raise ValueError(f"a store is made on the CPU, and the features are on {matrix.device}: move them with .cpu()")
    return _DenseColumns(matrix) if matrix.layout == torch.strided else _SparseColumns(matrix)


def _lies_in_its_file(x: np.memmap[Any, Any]) -> bool:
    """Whether the array covers the whole file from its offset on, and is not a slice."""
    whole = x.base is None or not isinstance(x.base, np.memmap)
    return x.ndim == 2 and x.flags.c_contiguous and whole and x.dtype in (np.float32, np.float64)


class _DenseColumns(FeatureColumns):
    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix
        self.shape, self.dtype = (matrix.shape[0], matrix.shape[1]), matrix.dtype

    def block(self, start: int, stop: int) -> Tensor:
        return self.matrix[:, start:stop].contiguous()

    def facts(self) -> tuple[str, np.ndarray]:
        digest, filled = _new_digest("dense", self), np.zeros(self.shape[1], np.int64)
        rows = _rows_at_once(self)
        for start in range(0, self.shape[0], rows):
            part = self.matrix[start : start + rows].contiguous().numpy()
            digest.update(part.data)
            filled += np.count_nonzero(part, axis=0)
        return digest.hexdigest(), filled


class _SparseColumns(FeatureColumns):
    def __init__(self, matrix: Tensor) -> None:
        self.starts, self.rows, self.values = matrix.ccol_indices(), matrix.row_indices(), matrix.values()
        self.shape, self.dtype = (matrix.shape[0], matrix.shape[1]), matrix.dtype

    def block(self, start: int, stop: int) -> Tensor:
        starts = self.starts[start : stop + 1]
        entries = slice(int(starts[0]), int(starts[-1]))
        with without_torch_notices():
            return torch.sparse_csc_tensor(
                starts - starts[0],
                self.rows[entries],
                self.values[entries],
                size=(self.shape[0], stop - start),
                check_invariants=False,
            )

    def facts(self) -> tuple[str, np.ndarray]:
        digest = _new_digest("csc", self)
        for part in (self.starts, self.rows, self.values):
            digest.update(np.ascontiguousarray(part.numpy()).data)
        filled = np.add.reduceat(np.r_[(self.values != 0).numpy(), False].astype(np.int64), self.starts[:-1].numpy())
        return digest.hexdigest(), np.where(self.starts.diff().numpy() > 0, filled, 0)

    def block_bytes(self, width: int) -> int:
        # Slices are views. Columns that need double precision become dense.
        return 0


class _FileColumns(FeatureColumns):
    """A ``.npy`` file, read in parts with plain reads, because mapped pages would count as memory."""

    def __init__(self, path: Path, mapped: np.ndarray, num_nodes: int) -> None:
        if not isinstance(mapped, np.memmap) or mapped.ndim != 2 or not mapped.flags.c_contiguous:
            raise ValueError(f"{path} does not hold features [num_nodes, channels] row by row: save a 2-d array")
        if mapped.dtype not in (np.float32, np.float64) or not mapped.dtype.isnative:
            raise ValueError(f"features must be float32 or float64, not {mapped.dtype}: convert {path} first")
        if mapped.shape[0] != num_nodes or mapped.shape[1] == 0:
            raise ValueError(
                f"features have shape {list(mapped.shape)} but the graph has {num_nodes} nodes: pass one row per node "
                "and at least one column"
            )
        self.path, self.numpy_type, self.offset = path.absolute(), mapped.dtype, int(mapped.offset)
        self.shape = (mapped.shape[0], mapped.shape[1])
        self.dtype = torch.float32 if mapped.dtype == np.float32 else torch.float64

    def _parts(self) -> Any:
        rows = _rows_at_once(self)
        buffer = np.empty((rows, self.shape[1]), self.numpy_type)
        with self.path.open("rb") as file:
            file.seek(self.offset)
            for start in range(0, self.shape[0], rows):
                part = buffer[: min(rows, self.shape[0] - start)]
                if file.readinto(part.reshape(-1).view(np.uint8).data) != part.nbytes:
                    raise ValueError(f"{self.path} ends before it should: it is damaged, or was changed")
                yield start, part

    def block(self, start: int, stop: int) -> Tensor:
        block = np.empty((self.shape[0], stop - start), self.numpy_type)
        for first, part in self._parts():
            block[first : first + len(part)] = part[:, start:stop]
        return torch.from_numpy(block)

    def facts(self) -> tuple[str, np.ndarray]:
        digest, filled = _new_digest("dense", self), np.zeros(self.shape[1], np.int64)
        for first, part in self._parts():
            wrong = ~np.isfinite(part.sum())
            if wrong and not np.isfinite(part).all():
                row, column = np.argwhere(~np.isfinite(part))[0]
                raise ValueError(
                    f"feature column {column} of node {first + row} is not finite ({part[row, column]}): impute or "
                    "drop it before factorizing"
                )
            digest.update(part.data)
            filled += np.count_nonzero(part, axis=0)
        return digest.hexdigest(), filled


class PreparedColumns(FeatureColumns):
    """Columns of a dense matrix whose rows are prepared when they are read, so that no prepared copy is in memory.

    Args:
        matrix: The rows before the preparation, such as a mapped file.
        prepare: The preparation of some rows.
        dtype: Data type of the prepared rows.
    """

    def __init__(self, matrix: Any, prepare: Callable[[Any], Tensor], dtype: torch.dtype) -> None:
        self.matrix, self.prepare, self.dtype = matrix, prepare, dtype
        self.shape = (matrix.shape[0], matrix.shape[1])

    def block(self, start: int, stop: int) -> Tensor:
        block = torch.empty(self.shape[0], stop - start, dtype=self.dtype)
        # A scaling makes several copies of its rows in double precision.
        rows = max(1, _rows_at_once(self) // 8)
        for first in range(0, self.shape[0], rows):
            block[first : first + rows] = self.prepare(self.matrix[first : first + rows])[:, start:stop]
        return block

    def facts(self) -> tuple[str, np.ndarray]:
        raise NotImplementedError("these columns are for predictions, which have no store to find again")


def _new_digest(layout: str, columns: FeatureColumns) -> Any:
    return hashlib.sha256(f"{layout} {columns.dtype} {columns.shape}\n".encode())


def _rows_at_once(columns: FeatureColumns) -> int:
    return max(1, CHUNK_BYTES // (columns.shape[1] * columns.dtype.itemsize))


def save_columns(columns: FeatureColumns, folder: Path) -> dict[str, Any]:
    """Write features to a folder for workers; returns a description for :func:`open_columns`."""
    if isinstance(columns, _FileColumns):
        return {"path": str(columns.path)}
    if isinstance(columns, _DenseColumns):
        path = folder / "features.npy"
        np.save(path, columns.matrix.numpy())
        return {"path": str(path.absolute())}
    assert isinstance(columns, _SparseColumns)
    matrix = sp.csc_array((columns.values.numpy(), columns.rows.numpy(), columns.starts.numpy()), shape=columns.shape)
    sp.save_npz(folder / "features.npz", matrix, compressed=False)
    return {"path": str((folder / "features.npz").absolute())}


def open_columns(saved: dict[str, Any], num_nodes: int) -> FeatureColumns:
    """Open features written by :func:`save_columns`."""
    path = Path(saved["path"])
    return feature_columns(sp.load_npz(path) if path.suffix == ".npz" else path, num_nodes)
