"""The graph of nodes that are exactly two hops apart."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch

from unifilter._internal.array_cache import cached_arrays
from unifilter._internal.memory import check_memory
from unifilter.graph.graph import Graph

_KEY = "two hops"
# A core follows this many paths of two edges in about a second. With fewer, the result is not worth a file.
_LONG = 100_000_000
# Maximum number of entries of the rows computed at once, about 200 MB.
_AT_ONCE = 1 << 23


def two_hop_graph(graph: Graph) -> Graph:
    r"""The graph that joins every two nodes that have a common neighbor and are not neighbors themselves.

    The result has no self-loops and no weights. It is computed as a product of the adjacency with itself, some rows at
    a time. For large graphs it is stored in the folder ``two-hop`` of the cache. If the result would not fit in memory,
    an error is raised before memory runs out.

    Args:
        graph: The graph.

    Example:
        >>> import torch
        >>> from unifilter import Graph
        >>> from unifilter.graph import two_hop_graph
        >>> path = Graph.from_edges(torch.tensor([[0, 1, 2], [1, 2, 3]]))
        >>> two_hop_graph(path).edges()[0]
        tensor([[0, 1],
                [2, 3]])
    """
    if _KEY not in graph.cache:
        graph.cache[_KEY] = _find(graph.to("cpu").with_self_loops("remove")).to(graph.device)
    found: Graph = graph.cache[_KEY]
    return found


def _find(graph: Graph) -> Graph:
    starts, nodes = graph.row_start.numpy(), graph.num_nodes
    # Float, because numbers of paths can exceed small integer types.
    entries = np.ones(len(graph.neighbors), dtype=np.float32), graph.neighbors.numpy(), starts
    adjacency = sp.csr_array(entries, shape=(nodes, nodes))
    paths = adjacency @ np.diff(starts)
    what = f"the two-hop graph of {nodes:,} nodes"

    def make() -> dict[str, np.ndarray]:
        return _two_hop_rows(what, adjacency, np.minimum(paths, nodes))

    arrays = make() if paths.sum() < _LONG else cached_arrays(what, "two-hop", graph.checksum, make)
    return Graph(
        torch.from_numpy(arrays["row_start"]),
        torch.from_numpy(arrays["neighbors"]),
        None,
        self_loops="remove",
        duplicates=graph.duplicates,
    )


def _two_hop_rows(what: str, adjacency: sp.csr_array, at_most: np.ndarray) -> dict[str, np.ndarray]:
    """Compressed sparse rows of the two-hop graph. ``at_most`` is the maximum number of entries of each row."""
    near = (adjacency + sp.identity(len(at_most), format="csr")).astype(bool).tocsr()
    bounds = np.concatenate([[0], at_most.cumsum()])
    counts, neighbors = [np.zeros(1, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
    found = begin = 0
    while begin < len(at_most):
        end = max(begin + 1, int(np.searchsorted(bounds, bounds[begin] + _AT_ONCE, side="right")) - 1)
        far = ((adjacency[begin:end] @ adjacency).astype(bool) > near[begin:end]).tocsr()
        far.sort_indices()
        counts.append(np.diff(far.indptr).astype(np.int64))
        neighbors.append(far.indices.astype(np.int32))
        found += far.nnz
        begin = end
        # Extrapolated at the density so far: entries still to come, and a second copy when they are concatenated.
        total = found * bounds[-1] / max(bounds[begin], 1)
        check_memory(what, 4 * (2 * total - found), "use a method that needs only direct neighbors, such as acm-gcn")
    return {"row_start": np.concatenate(counts).cumsum(), "neighbors": np.concatenate(neighbors)}
