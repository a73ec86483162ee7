"""A layer with one weight per node, which uses the rows of a graph's matrix as features."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from unifilter.nn.sparse_rows import SparseRows


class NodeLinear(nn.Module):
    r"""The map :math:`\mathbf{A} \mapsto \mathbf{A}\mathbf{W} + b` with a row of :math:`\mathbf{W}` for every node.

    It is :class:`torch.nn.Linear` on ``num_nodes`` features, by a sparse product, with the same initial weights.

    Args:
        num_nodes: Number of nodes.
        out_channels: Width of the output.
        bias: Whether there is a bias.
    """

    def __init__(self, num_nodes: int, out_channels: int, bias: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_nodes, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial weights."""
        bound = 1 / math.sqrt(len(self.weight))
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def forward(self, matrix: SparseRows) -> Tensor:
        product = matrix @ self.weight
        return product if self.bias is None else product + self.bias
