"""GraphSAGE with the mean of all neighbors."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_count, check_rate
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.input_linear import InputLinear
from unifilter.nn.operators import neighbor_mean


class GraphSAGE(GraphModule):
    r"""Layers that see a node and the mean of its neighbors side by side, of "Inductive Representation Learning on
    Large Graphs" (2017), and a linear layer at the end:

    .. math::
        h_l = \mathrm{ReLU}\big([h_{l-1} \,\|\, \mathbf{D}^{-1}\mathbf{A} h_{l-1}] \mathbf{W}_l\big)

    The paper draws a few neighbors of each node to save time on graphs of millions of nodes. Here the mean is over all
    of them: on graphs whose features fit in memory it costs less than drawing does, and predictions have no noise. A
    node without neighbors has a mean of zero.

    Args:
        in_channels, hidden_channels, out_channels: Widths.
        num_layers: Number of layers before the linear one.
        dropout: Dropout on the input of every layer.

    Shapes:
        - input: features ``[num_nodes, in_channels]``, dense or sparse, and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``
    """

    takes_directed = True

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, num_layers: int = 2, dropout: float = 0.5
    ) -> None:
        super().__init__()
        check_count("num_layers", num_layers, "the paper uses 2")
        self.dropout = check_rate("dropout", dropout)
        widths = [in_channels, *[hidden_channels] * (num_layers - 1)]
        # The two halves of W next to each other, so that a layer reads its input once.
        self.layers = nn.ModuleList(InputLinear(width, 2 * hidden_channels, bias=False) for width in widths)
        self.output = InputLinear(hidden_channels, out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for layer in self.layers:
            for weight in layer.parameters():
                # Glorot's, of W as the equation has it.
                bound = math.sqrt(6 / (2 * weight.shape[1] + weight.shape[0] // 2))
                nn.init.uniform_(weight, -bound, bound)
        self.output.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        mean = neighbor_mean(self.graph_of(x, edge_index, edge_weight), x.dtype)
        rate = self.dropout if self.training else 0.0
        for layer in self.layers:
            own, of_neighbors = layer(x, rate).chunk(2, dim=1)
            x = torch.relu(own + mean @ of_neighbors)
        logits: Tensor = self.output(x, rate)
        return logits
