"""Filtered features for a store with only some rows of the vectors.

The filter is linear, so each block of columns is factored again, summed with its weights, and discarded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.array_files import CHUNK_BYTES, array_writer, read_part
from unifilter.factorization.stored.block import compute_block
from unifilter.factorization.stored.feature_columns import feature_columns
from unifilter.factorization.stored.row_cache import scratch_folder
from unifilter.factorization.stored.stored_factorization import StoredFactorization
from unifilter.graph import Graph
from unifilter.kernels.combine import combine


def filtered_rows(fact: StoredFactorization, graph: Graph, x: Any, weights: Tensor) -> Iterator[Tensor]:
    """The filtered features of all nodes in order, some rows at a time, ``[rows, channels]``.

    Args:
        fact: Store of this graph and these features.
        graph: The graph.
        x: The features.
        weights: Weights on the Lanczos vectors, ``[hops + 1, channels]``.
    """
    columns = feature_columns(x, graph.num_nodes)
    spans = [tuple(block["columns"]) for block in fact.blocks]
    with scratch_folder(fact.folder) as scratch, ExitStack() as stack:
        files, records = [], []
        for index, (start, stop) in enumerate(spans):
            vectors = compute_block(graph, columns, fact.key, (start, stop))[0]
            path = Path(scratch) / f"{index}.npy"
            with array_writer(path, np.dtype(fact.key.dtype), (stop - start,)) as writer:
                writer.write(combine(vectors[: fact.hops + 1], weights[None, :, start:stop])[0].numpy())
                records.append(writer.finish())
            del vectors
            files.append(stack.enter_context(path.open("rb", buffering=0)))
        at_once = max(1, CHUNK_BYTES // (fact.channels * fact.dtype.itemsize))
        for first in range(0, fact.num_nodes, at_once):
            count = min(at_once, fact.num_nodes - first)
            part = torch.empty(count, fact.channels, dtype=fact.dtype)
            for (start, stop), file, record in zip(spans, files, records, strict=True):
                buffer = np.empty((count, stop - start), record["dtype"])
                read_part(file, {**record, "shape": [1, *record["shape"]]}, 0, first, buffer)
                part[:, start:stop] = torch.from_numpy(buffer)
            yield part


def in_parts(forward: Callable[[Tensor], Tensor], nodes: Tensor, rows: int) -> Tensor:
    """Outputs of a model for nodes, ``rows`` nodes at a time."""
    return torch.cat([forward(part) for part in torch.split(nodes, rows)])
