"""A graph as the kernels take it: compressed rows of the adjacency and the square roots of the degrees."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from unifilter._internal.checks import without_torch_notices


class CompressedRows(NamedTuple):
    """A symmetric adjacency.

    Attributes:
        row_start: Where each row begins among the entries, int64 ``[num_nodes + 1]``.
        neighbors: The column of each entry, int32.
        weights: The weight of each entry; ``None`` where all are 1.
        root_degree: Square root of each degree, 1 where it is zero, float64 ``[num_nodes]``.
    """

    row_start: Tensor
    neighbors: Tensor
    weights: Tensor | None
    root_degree: Tensor

    def adjacency(self, dtype: torch.dtype) -> Tensor:
        """The adjacency as a torch CSR tensor."""
        entries, nodes = self.neighbors.numel(), self.root_degree.numel()
        values = self.neighbors.new_ones(entries, dtype=dtype) if self.weights is None else self.weights.to(dtype)
        with without_torch_notices():
            # torch multiplies CSR matrices whose two index tensors share one integer type.
            return torch.sparse_csr_tensor(
                self.row_start, self.neighbors.long(), values, (nodes, nodes), check_invariants=False
            )

    def torch_product(self, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
        r"""The map :math:`x \mapsto \mathbf{P} x` in plain torch, ready to be applied many times."""
        adjacency, root = self.adjacency(dtype), self.root_degree.to(dtype)[:, None]
        return lambda x: (adjacency @ (x / root)) / root
