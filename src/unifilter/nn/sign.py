"""SIGN: powers of the propagation matrix, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from unifilter._internal.checks import check_choice, check_hops, check_rate
from unifilter.graph import Graph
from unifilter.kernels.dropout import dropout
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.input_linear import as_dense

Head = Literal["released", "paper"]


class SIGN(GraphModule):
    r"""SIGN of "SIGN: Scalable Inception Graph Neural Networks" (2020), a network on
    :math:`x, \mathbf{P}x, \dots, \mathbf{P}^K x`.

    The authors released one that takes all of them side by side through three linear layers, with batch normalization,
    ReLU and dropout behind each but the last. Their paper has a layer for each power instead:

    .. math::
        y = \Big[\mathrm{ReLU}(x\,\Theta_0) \,\Vert\, \mathrm{ReLU}(\mathbf{P}x\,\Theta_1) \,\Vert\, \dots \,\Vert\,
        \mathrm{ReLU}(\mathbf{P}^K x\,\Theta_K)\Big]\, \Omega

    Args:
        in_channels: Number of features.
        hidden_channels: Width of the hidden layers, or of the layer of each hop.
        out_channels: Number of classes.
        hops: Number of hops K.
        dropout: Dropout on the hidden layers.
        head: ``"released"`` or ``"paper"``.

    Shapes:
        - input: features ``[num_nodes, in_channels]`` and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        hops: int = 3,
        dropout: float = 0.5,
        head: Head = "released",
    ) -> None:
        super().__init__()
        check_choice("head", head, ("released", "paper"))
        self.hops, self.dropout = check_hops(hops), check_rate("dropout", dropout)
        self.head: _ReleasedHead | _PaperHead
        kind = _ReleasedHead if head == "released" else _PaperHead
        self.head = kind(in_channels, hidden_channels, out_channels, hops)

    def reset_parameters(self) -> None:
        for layer in self.head.modules():
            if isinstance(layer, (nn.Linear, nn.BatchNorm1d)):
                layer.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        return self.forward_powers(self._powers(x, self.graph_of(x, edge_index, edge_weight)))

    def node_inputs(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        r""":math:`x, \mathbf{P}x, \dots, \mathbf{P}^K x` side by side, ``[num_nodes, (hops + 1) in_channels]``."""
        return torch.cat(self._powers(x, self.graph_of(x, edge_index, edge_weight)), dim=1)

    def on_node_inputs(self, rows: Tensor) -> Tensor:
        return self.forward_powers(torch.chunk(rows, self.hops + 1, dim=1))

    def _powers(self, x: Features, graph: Graph) -> list[Tensor]:
        powers = [as_dense(x)]
        for _ in range(self.hops):
            powers.append(graph.propagate(powers[-1], check_finite=False))
        return powers

    def forward_powers(self, powers: Sequence[Tensor] | Tensor) -> Tensor:
        r"""Logits from what is precomputed: :math:`\mathbf{P}^k x` of some rows, ``[hops + 1, rows, in_channels]``."""
        logits: Tensor = self.head(powers, self.dropout if self.training else 0.0)
        return logits


class _ReleasedHead(nn.Module):
    """Three layers on all powers side by side."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, hops: int) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.first = nn.Linear((hops + 1) * in_channels, hidden_channels)
        self.second = nn.Linear(hidden_channels, hidden_channels)
        self.output = nn.Linear(hidden_channels, out_channels)
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden_channels) for _ in range(2))

    def forward(self, powers: Sequence[Tensor] | Tensor, rate: float) -> Tensor:
        # Power by power, which needs no copy of them side by side.
        parts = zip(powers, torch.split(self.first.weight, self.in_channels, dim=1), strict=True)
        hidden = sum((linear(power, weight) for power, weight in parts), start=self.first.bias)
        hidden = dropout(torch.relu(self.norms[0](hidden)), rate)
        hidden = dropout(torch.relu(self.norms[1](self.second(hidden))), rate)
        logits: Tensor = self.output(hidden)
        return logits


class _PaperHead(nn.Module):
    """A layer for each power, and one on what they give."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, hops: int) -> None:
        super().__init__()
        self.branches = nn.ModuleList(nn.Linear(in_channels, hidden_channels) for _ in range(hops + 1))
        self.output = nn.Linear((hops + 1) * hidden_channels, out_channels)

    def forward(self, powers: Sequence[Tensor] | Tensor, rate: float) -> Tensor:
        parts = zip(self.branches, powers, strict=True)
        hidden = torch.cat([torch.relu(branch(power)) for branch, power in parts], dim=1)
        logits: Tensor = self.output(dropout(hidden, rate))
        return logits
