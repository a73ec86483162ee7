"""The unit of work: one block of columns, from the features to the disk, independent of all other blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.array_files import CHUNK_BYTES, array_writer, write_manifest
from unifilter.factorization.factorization import check_lengths, lanczos_on
from unifilter.factorization.stored.feature_columns import FeatureColumns
from unifilter.factorization.stored.layout import StoreKey, block_path, vectors_path
from unifilter.graph import Graph
from unifilter.kernels.lanczos import Parts


def compute_block(graph: Graph, columns: FeatureColumns, key: StoreKey, span: tuple[int, int]) -> Parts:
    """The factorization of some columns."""
    parts = lanczos_on(graph, columns.block(*span), key.hops, key.reorthogonalize, signals=columns.shape[1])
    check_lengths(parts[3], span[0])
    return parts


def write_block(
    folder: Path,
    index: int,
    span: tuple[int, int],
    parts: Parts,
    key: StoreKey,
    nodes: np.ndarray | None,
) -> dict[str, Any]:
    """Write a block: first the vectors, then the small file that marks the block as complete.

    Args:
        folder: The store.
        index: Number of the block.
        span: Columns of the block.
        parts: Factorization of the columns.
        key: Key of the store.
        nodes: Nodes whose rows are kept, row by row; ``None`` keeps all rows, vector by vector.
    """
    vectors, alpha, beta, norm, dimension = parts
    hops, num_nodes, width = vectors.shape
    scale = storage_scale(key)
    lost = torch.zeros(hops, width, dtype=torch.float64)
    at_once = max(1, CHUNK_BYTES // (hops * width * 8))
    shape = (num_nodes, width) if nodes is None else (hops, width)
    with array_writer(vectors_path(folder, index), _stored_type(key), shape) as writer:
        if nodes is None:
            for hop in range(hops):
                for start in range(0, num_nodes, at_once * hops):
                    part = vectors[hop, start : start + at_once * hops]
                    stored = _encode(part, scale)
                    if scale != 1:
                        lost[hop] += (decode(stored, scale, part.dtype) - part).double().square().sum(dim=0)
                    writer.write(stored.numpy())
        else:
            for start in range(0, len(nodes), at_once):
                part = vectors[:, torch.from_numpy(nodes[start : start + at_once])]
                stored = _encode(part, scale)
                if scale != 1:
                    lost += (decode(stored, scale, part.dtype) - part).double().square().sum(dim=1)
                writer.write(stored.transpose(0, 1).contiguous().numpy())
        record = writer.finish()
    content = {
        "columns": list(span),
        "vectors": record,
        "alpha": alpha.tolist(),
        "beta": beta.tolist(),
        "norm": norm.tolist(),
        "dimension": dimension.tolist(),
        # Error of unit vectors, or of their kept rows.
        "error": float(lost.amax().sqrt()),
    }
    write_manifest(block_path(folder, index), content)
    return content


def storage_scale(key: StoreKey) -> float:
    """Scale of stored entries. Unit vectors have entries near 1 / sqrt(num_nodes), too small for half precision."""
    return float(key.num_nodes) ** 0.5 if key.storage == "float16" else 1.0


def _stored_type(key: StoreKey) -> np.dtype[Any]:
    return np.dtype(np.float16 if key.storage == "float16" else key.dtype)


def _encode(part: Tensor, scale: float) -> Tensor:
    return part if scale == 1 else (part * scale).half()


def decode(stored: Tensor, scale: float, dtype: torch.dtype) -> Tensor:
    """The vectors from their stored form."""
    return stored if scale == 1 else stored.to(dtype) / scale
