"""Sums over neighbors with weights from both ends of an edge, in memory of one number per edge."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from unifilter._internal.checks import without_torch_notices
from unifilter.graph import Graph
from unifilter.kernels.dropout import dropout
from unifilter.kernels.sparse_product import sparse_product

# torch takes the dot products of rows of other widths one number at a time, ten times as long.
_EVEN_WIDTH = 8
# Masks of edges are drawn as those of rows of this length.
_MASK_WIDTH = 256


class EdgeRows:
    """The entries of a square sparse matrix, row by row, for values that carry a gradient.

    Row ``i`` lists the nodes ``j`` that send messages to node ``i``. Vectors with a number per entry are in this order.

    Args:
        starts: Start of each row among the entries ``[num_nodes + 1]``.
        columns: The column of each entry.

    Example:
        >>> import torch
        >>> from unifilter.nn.edge_attention import EdgeRows
        >>> star = EdgeRows(torch.tensor([0, 2, 3, 4]), torch.tensor([1, 2, 0, 0]))
        >>> scores = star.pairs(torch.tensor([0.0, 1.0, 2.0]), torch.tensor([0.0, 0.0, 5.0]))
        >>> scores
        tensor([0., 5., 1., 2.])
        >>> star.weighted_sum(scores, torch.tensor([[1.0], [2.0], [3.0]]))
        tensor([[15.],
                [ 1.],
                [ 2.]])
    """

    def __init__(self, starts: Tensor, columns: Tensor) -> None:
        self.num_nodes, self.num_entries = len(starts) - 1, len(columns)
        # 32 bits halve the memory. torch multiplies matrices whose index tensors share one integer type.
        index = torch.int32 if self.num_entries < 2**31 else torch.int64
        self.starts, self.columns = starts.to(index), columns.to(index)
        nodes = torch.arange(self.num_nodes, dtype=index, device=starts.device)
        self.rows = torch.repeat_interleave(nodes, self.starts.diff())
        # The entries column by column, for the transposed product.
        self._order = torch.argsort(self.columns, stable=True).to(index)
        counts = torch.bincount(self.columns, minlength=self.num_nodes)
        self._column_starts = pad(counts.cumsum(dim=0), (1, 0)).to(index)
        self._rows_by_column = self.rows.index_select(0, self._order)

    def pairs(self, of_row: Tensor, of_column: Tensor) -> Tensor:
        """``of_row[i] + of_column[j]`` for each entry, from two vectors with a number for each node."""
        return of_row.index_select(0, self.rows) + of_column.index_select(0, self.columns)

    def softmax(self, scores: Tensor) -> Tensor:
        """Scores as weights that sum to 1 in each row that has entries."""
        return _Softmax.apply(scores, self)  # type: ignore[no-any-return,no-untyped-call]

    def dropout(self, weights: Tensor, p: float) -> Tensor:
        """Dropout on one number for each entry."""
        if p == 0:
            return weights
        whole = pad(weights, (0, -self.num_entries % _MASK_WIDTH)).view(-1, _MASK_WIDTH)
        return dropout(whole, p).flatten()[: self.num_entries]

    def weighted_sum(self, weights: Tensor, x: Tensor) -> Tensor:
        r""":math:`\sum_j w_{ij} x_j` for each row, of ``x [num_nodes, channels]``; both have a gradient, once.

        No array of the size of all messages is made, neither here nor in the backward pass.
        """
        return _WeightedSum.apply(weights, x, self)  # type: ignore[no-any-return,no-untyped-call]

    def row_sums(self, numbers: Tensor) -> Tensor:
        """The sum of one number for each entry over each row."""
        return numbers.new_zeros(self.num_nodes).index_add_(0, self.rows, numbers)

    def times(self, weights: Tensor, x: Tensor) -> Tensor:
        """:meth:`weighted_sum` without a gradient."""
        return sparse_product(self.starts, self.columns, weights.detach(), x)

    def transposed_times(self, weights: Tensor, x: Tensor) -> Tensor:
        r""":math:`\sum_i w_{ij} x_i` for each column, without a gradient."""
        by_column = weights.detach().index_select(0, self._order)
        return sparse_product(self._column_starts, self._rows_by_column, by_column, x)

    def dot_products(self, left: Tensor, right: Tensor) -> Tensor:
        r""":math:`\langle l_i, r_j \rangle` for each entry, without a gradient."""
        fill = (0, -left.shape[1] % _EVEN_WIDTH)
        left, right = pad(left.detach(), fill), pad(right.detach(), fill)
        shape = (self.num_nodes, self.num_nodes)
        with without_torch_notices():
            entries = torch.sparse_csr_tensor(
                self.starts, self.columns, left.new_zeros(self.num_entries), shape, check_invariants=False
            )
            products: Tensor = torch.sparse.sampled_addmm(entries, left, right.T).values()
        return products


def edge_rows(graph: Graph) -> EdgeRows:
    """The entries of a graph's adjacency, prepared once for each graph."""
    if "edge rows" not in graph.cache:
        graph.cache["edge rows"] = EdgeRows(graph.row_start, graph.neighbors)
    rows: EdgeRows = graph.cache["edge rows"]
    return rows


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, edges: EdgeRows) -> Tensor:
        peaks = torch.segment_reduce(scores.detach(), "max", offsets=edges.starts.long())
        powers = (scores - peaks.index_select(0, edges.rows)).exp_()
        weights = powers.div_(edges.row_sums(powers).index_select(0, edges.rows))
        ctx.edges = edges
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (weights,) = ctx.saved_tensors
        scaled = weights * grad
        # The softmax ignores a constant added to all scores of a row.
        means = ctx.edges.row_sums(scaled).index_select(0, ctx.edges.rows)
        return scaled.addcmul_(weights, means, value=-1), None


class _WeightedSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, x: Tensor, edges: EdgeRows) -> Tensor:
        ctx.edges = edges
        ctx.save_for_backward(weights, x)
        return edges.times(weights, x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        weights, x = ctx.saved_tensors
        needs_weights, needs_x, _ = ctx.needs_input_grad
        return (
            ctx.edges.dot_products(grad, x) if needs_weights else None,
            ctx.edges.transposed_times(weights, grad) if needs_x else None,
            None,
        )
