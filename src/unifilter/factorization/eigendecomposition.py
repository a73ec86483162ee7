"""Eigenpairs of a graph's Laplacian, all or both ends of the spectrum, computed once and cached on disk.

Only methods that work on the spectrum itself need eigenpairs. Polynomial methods do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import scipy.linalg
import scipy.sparse as sp
import torch
from torch import Tensor

from unifilter._internal.array_cache import cached_arrays
from unifilter.factorization.block_eigensolver import block_size, largest_pairs
from unifilter.graph import Graph

# A full decomposition takes two minutes at 5,000 nodes on two cores, and grows with the cube: some ten minutes at this
# size. An epoch on all eigenvectors grows with the square. Actor, the largest graph that Specformer's authors decompose
# in full, has 7,600 nodes.
FULL_LIMIT = 8_000
# Number of smallest and of largest eigenpairs on larger graphs, as Specformer's authors use on Penn94.
ENDS = (3_000, 3_000)


@dataclass(frozen=True, repr=False, eq=False)
class Eigenpairs:
    r"""Eigenvalues and eigenvectors of :math:`\mathbf{L} = \mathbf{I} - \mathbf{P}`.

    Attributes:
        values: Ascending, float32 ``[count]``.
        vectors: Orthonormal columns, float32 ``[num_nodes, count]``.
    """

    values: Tensor
    vectors: Tensor

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_nodes={self.vectors.shape[0]}, count={len(self.values)})"


def eigenpairs(
    graph: Graph,
    ends: tuple[int, int] | None = None,
    *,
    cache_dir: str | Path | None = None,
    memory_limit: int | None = None,
) -> Eigenpairs:
    """Eigenpairs of the Laplacian from the cache, or computed in float64 and cached.

    A graph whose eigenpairs do not fit into memory is refused before anything is computed.

    Args:
        graph: The graph.
        ends: Numbers of smallest and largest eigenpairs. Default: all, and on graphs of more than 8,000 nodes 3,000
            from each end.
        cache_dir: Cache folder. Default: the folder ``eigenpairs`` inside the folder named by the environment variable
            ``UNIFILTER_CACHE``, otherwise inside the user's cache folder.
        memory_limit: Maximum memory in bytes. Default: half of the machine's memory.

    Example:
        >>> import tempfile, torch
        >>> from unifilter import Graph
        >>> from unifilter.factorization.eigendecomposition import eigenpairs
        >>> triangle = Graph.from_edges(torch.tensor([[0, 1, 2], [1, 2, 0]]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     eigenpairs(triangle, cache_dir=folder).values.round(decimals=4)
        tensor([0.0000, 1.5000, 1.5000])
    """
    graph.require_undirected("an eigendecomposition")
    nodes = graph.num_nodes
    if ends is not None and (len(ends) != 2 or min(ends) < 0 or sum(ends) < 1):
        raise ValueError(f"ends must be two counts, at least one of them positive, not {ends!r}: pass (3000, 3000)")
    if ends is None and nodes > FULL_LIMIT:
        ends = ENDS
    if ends is not None and sum(ends) >= nodes:
        ends = None
    limit = psutil.virtual_memory().total // 2 if memory_limit is None else memory_limit
    needed = _bytes_needed(nodes, ends)
    if needed > limit:
        raise ValueError(
            f"the eigenpairs of {nodes:,} nodes need {needed / 2**30:.1f} GiB of memory, and {limit / 2**30:.1f} GiB "
            "may be used: ask for fewer (ends), or use a method that needs none"
        )
    which = "all" if ends is None else f"{ends[0]}-{ends[1]}"

    def make() -> dict[str, np.ndarray]:
        values, vectors = _all_pairs(graph) if ends is None else _pairs_at_ends(graph, ends)
        return {"values": values, "vectors": vectors}

    what = f"eigenpairs of {nodes:,} nodes ({which})"
    found = cached_arrays(what, "eigenpairs", f"{graph.checksum}-{which}", make, cache_dir)
    return Eigenpairs(torch.from_numpy(found["values"]), torch.from_numpy(found["vectors"]))


def _all_pairs(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    laplacian = -_propagation(graph).toarray()
    laplacian[np.diag_indices_from(laplacian)] += 1
    values, vectors = scipy.linalg.eigh(laplacian, overwrite_a=True, check_finite=False, driver="evd")
    return _in_order(values, vectors)


def _pairs_at_ends(graph: Graph, ends: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    propagation = _propagation(graph)
    highest, smooth = largest_pairs(propagation, ends[0])
    lowest, rough = largest_pairs(-propagation, ends[1], orthogonal_to=smooth)
    return _in_order(torch.cat([1 - highest, 1 + lowest]).numpy(), torch.cat([smooth, rough], dim=1).numpy())


def _in_order(values: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(values, kind="stable")
    # Rounding errors can exceed the bounds of the spectrum.
    return values[order].clip(0, 2).astype(np.float32), np.ascontiguousarray(vectors[:, order], dtype=np.float32)


def _propagation(graph: Graph) -> sp.csr_array:
    matrix = graph.to("cpu").propagation_matrix(torch.float64)
    arrays = (matrix.values().numpy(), matrix.col_indices().numpy(), matrix.crow_indices().numpy())
    return sp.csr_array(arrays, shape=(graph.num_nodes, graph.num_nodes))


def _bytes_needed(nodes: int, ends: tuple[int, int] | None) -> int:
    """Peak memory in float64: LAPACK's matrix, its work space of twice that size, and the sorted result; or both ends,
    their copy, and six times the filtered block.
    """
    if ends is None:
        return 8 * 4 * nodes**2
    return 8 * nodes * (2 * sum(ends) + 6 * block_size(max(ends), nodes))
