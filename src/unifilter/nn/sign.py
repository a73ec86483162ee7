"""SIGN: a layer of its own for every hop."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_hops, check_rate
from unifilter.kernels.dropout import dropout
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.input_linear import as_dense


class SIGN(GraphModule):
    r"""SIGN of "SIGN: Scalable Inception Graph Neural Networks" (2020):

    .. math::
        y = \Big[\mathrm{ReLU}(x\,\Theta_0) \,\Vert\, \mathrm{ReLU}(\mathbf{P}x\,\Theta_1) \,\Vert\, \dots \,\Vert\,
        \mathrm{ReLU}(\mathbf{P}^K x\,\Theta_K)\Big]\, \Omega

    Args:
        in_channels: Number of features.
        hidden_channels: Width of the layer of each hop.
        out_channels: Number of classes.
        hops: Number of hops K.
        dropout: Dropout on the hidden layer.

    Shapes:
        - input: features ``[num_nodes, in_channels]`` and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, hops: int = 3, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.dropout = check_rate("dropout", dropout)
        self.branches = nn.ModuleList(nn.Linear(in_channels, hidden_channels) for _ in range(check_hops(hops) + 1))
        self.output = nn.Linear((hops + 1) * hidden_channels, out_channels)

    def reset_parameters(self) -> None:
        for layer in (*self.branches, self.output):
            layer.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        graph = self.graph_of(x, edge_index, edge_weight)
        powers = [as_dense(x)]
        for _ in self.branches[1:]:
            powers.append(graph.propagate(powers[-1], check_finite=False))
        return self.forward_powers(powers)

    def forward_powers(self, powers: Sequence[Tensor] | Tensor) -> Tensor:
        r"""Logits from what is precomputed: :math:`\mathbf{P}^k x` of some rows, ``[hops + 1, rows, in_channels]``."""
        hidden = torch.cat(
            [torch.relu(branch(power)) for branch, power in zip(self.branches, powers, strict=True)], dim=1
        )
        logits: Tensor = self.output(dropout(hidden, self.dropout if self.training else 0.0))
        return logits
