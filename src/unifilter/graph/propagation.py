r"""The propagation matrix :math:`\mathbf{P}` of a graph: its entries, and its product with signals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from unifilter._internal.checks import as_feature_matrix, without_torch_notices
from unifilter.kernels.compressed_rows import CompressedRows
from unifilter.kernels.propagate import propagate

if TYPE_CHECKING:
    from unifilter.graph.graph import Graph

# Degrees in this range are safe for the kernels in single precision. The weights of other graphs are normalized
# first.
_ORDINARY_DEGREES = (2.0**-20, 2.0**40)


def propagate_signal(graph: Graph, x: Any, *, check_finite: bool) -> Tensor:
    """See :meth:`unifilter.Graph.propagate`."""
    if not check_finite:
        check_signal(graph, x)
        return _product(graph, x)
    matrix = as_feature_matrix(x, graph.num_nodes)
    # as_feature_matrix detaches its input. A tensor that needed no conversion is used itself, with its gradient.
    as_it_came = isinstance(x, Tensor) and x.layout == torch.strided and x.dtype == matrix.dtype
    dense = x.reshape(matrix.shape) if as_it_came else matrix.to_dense()
    propagated = _product(graph.to(dense.device), dense)
    return propagated[:, 0] if np.ndim(x) == 1 else propagated


def _product(graph: Graph, x: Tensor) -> Tensor:
    return graph.in_node_order(propagate(graph.stored_rows, graph.in_stored_order(x)))


def check_signal(graph: Graph, x: Tensor) -> None:
    """See :meth:`unifilter.Graph.check_signal`."""
    if x.layout != torch.strided or x.ndim != 2 or x.dtype not in (torch.float32, torch.float64):
        layout = "" if x.layout == torch.strided else "sparse "
        raise ValueError(
            f"a signal must be a dense float32 or float64 tensor [num_nodes, channels], not {layout}{x.dtype} of "
            f"shape {list(x.shape)}: convert it with .to_dense() or .float(), add a missing axis with x[:, None]"
        )
    if x.shape[0] != graph.num_nodes or x.shape[1] == 0:
        raise ValueError(
            f"a signal on this graph must have {graph.num_nodes} rows and at least one column, not shape "
            f"{list(x.shape)}: pass one row per node"
        )
    if x.device != graph.device:
        raise ValueError(f"the signal is on {x.device} and the graph on {graph.device}: move it with .to()")


def compressed_rows(graph: Graph) -> CompressedRows:
    """See :attr:`unifilter.Graph.compressed_rows`."""
    graph.require_undirected("this product with P")
    if _has_ordinary_degrees(graph):
        return weighted_rows(graph)
    ones = torch.ones(graph.num_nodes, dtype=torch.float64, device=graph.device)
    return CompressedRows(graph.row_start, graph.neighbors, _normalized_weights(graph), ones)


def weighted_rows(graph: Graph) -> CompressedRows:
    """The adjacency as the kernels take it, with its weights unchanged."""
    return CompressedRows(graph.row_start, graph.neighbors, graph.weights, graph.root_degree(torch.float64))


def adjacency_matrix(graph: Graph, dtype: torch.dtype) -> Tensor:
    """See :meth:`unifilter.Graph.adjacency`."""
    adjacency = weighted_rows(graph).adjacency(dtype)
    values = adjacency.values()
    wrong = ~(torch.isfinite(values) & (values > 0))
    if wrong.any() and graph.weights is not None:
        first = int(wrong.nonzero()[0])
        raise ValueError(
            f"the weight of edge {int(graph.row_of_entry[first])} -> {int(graph.neighbors[first])} is "
            f"{graph.weights[first].item():.1e}, which is outside the range of {str(dtype)[6:]}: "
            "use adjacency(torch.float64)"
        )
    return adjacency


def propagation_matrix(graph: Graph, dtype: torch.dtype) -> Tensor:
    """See :meth:`unifilter.Graph.propagation_matrix`."""
    if not graph.is_undirected:
        return _directed_matrix(graph, dtype)
    if not _has_ordinary_degrees(graph):
        return graph.compressed_rows.adjacency(dtype)
    adjacency, root = adjacency_matrix(graph, dtype), graph.root_degree(dtype)
    columns, rows = adjacency.col_indices(), torch.repeat_interleave(root, graph.row_start.diff())
    values = adjacency.values() / rows / root[columns]
    with without_torch_notices():
        return torch.sparse_csr_tensor(
            adjacency.crow_indices(), columns, values, adjacency.shape, check_invariants=False
        )


def check_degrees(graph: Graph) -> None:
    """Reject weights whose sum at a node is infinite."""
    wrong = ~torch.isfinite(graph.degree)
    if wrong.any():
        raise ValueError(
            f"the weights at node {int(wrong.nonzero()[0])} add up to more than {np.finfo(np.float64).max:.1e}: "
            "divide all weights by the same number, which does not change P "
            f"({int(wrong.sum())} such nodes in all)"
        )


def _directed_matrix(graph: Graph, dtype: torch.dtype) -> Tensor:
    r""":math:`\mathbf{P}` of a directed graph. A node of degree zero receives no messages and sends none."""
    rows, columns = graph.row_of_entry, graph.neighbors.long()
    root = graph.degree.sqrt()
    scale = torch.where(root > 0, 1 / root, 0.0)
    values = scale[rows] * scale[columns] if graph.weights is None else graph.weights * scale[rows] * scale[columns]
    values = values.to(dtype)
    wrong = ~torch.isfinite(values)
    if wrong.any():
        first = int(wrong.nonzero()[0])
        raise ValueError(
            f"P has the entry {values[first].item()} for node {int(rows[first])} and its neighbor "
            f"{int(columns[first])}: the weights of this directed graph differ by too many orders of magnitude, "
            "rescale them"
        )
    with without_torch_notices():
        return torch.sparse_csr_tensor(
            graph.row_start, columns, values, (graph.num_nodes, graph.num_nodes), check_invariants=False
        )


def _has_ordinary_degrees(graph: Graph) -> bool:
    if graph.weights is None:
        return True
    low, high = _ORDINARY_DEGREES
    return bool(((graph.degree == 0) | ((graph.degree >= low) & (graph.degree <= high))).all())


def _normalized_weights(graph: Graph) -> Tensor:
    r"""The entries of :math:`\mathbf{P}` in double precision, for weights of any size.

    Each row is divided by its largest weight before it is summed, so that no degree over- or underflows.
    """
    rows, columns = graph.row_of_entry, graph.neighbors.long()
    weights = torch.ones_like(columns, dtype=torch.float64) if graph.weights is None else graph.weights.double()
    nothing = torch.zeros(graph.num_nodes, dtype=torch.float64, device=graph.device)
    peak = nothing.scatter_reduce(0, rows, weights, "amax")
    root = peak.sqrt()
    share = nothing.index_add(0, rows, weights / peak[rows]).sqrt()
    # Divide by the smaller root first: nothing overflows, and both directions of an edge round to the same value.
    smaller, larger = torch.minimum(root[rows], root[columns]), torch.maximum(root[rows], root[columns])
    return weights / smaller / larger / (share[rows] * share[columns])
