"""FAGCN: a gate on both ends of each edge adds or subtracts neighbors."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_count, check_rate
from unifilter.graph import Graph
from unifilter.kernels.dropout import dropout
from unifilter.nn.edge_attention import edge_rows
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.input_linear import InputLinear

# The authors' factor for the initial weights.
_GAIN = 1.414


class FAGCN(GraphModule):
    r"""FAGCN of "Beyond Low-frequency Information in Graph Convolutional Networks" (2021):

    .. math::
        h_i^{(l)} = \varepsilon \, h_i^{(0)} + \sum_{j \in N(i)} \mathrm{dropout}\left(
        \tanh\left(a_l^\top [h_i^{(l-1)} \,\|\, h_j^{(l-1)}] + b_l\right) \mathbf{P}_{ij}\right) h_j^{(l-1)},

    with :math:`h^{(0)} = \mathrm{dropout}(\mathrm{ReLU}(\mathbf{W}_1 \, \mathrm{dropout}(x)))` and a linear layer at
    the end. A gate near 1 averages over an edge, one near -1 takes the difference.

    Args:
        in_channels, hidden_channels, out_channels: Widths of input, hidden layer and output.
        num_layers: Number of sums over neighbors.
        dropout: Dropout on the features, on the hidden layer and on the weights of the edges.
        epsilon: Factor of the hidden layer in each sum.

    Shapes:
        - input: features ``[num_nodes, in_channels]``, dense or sparse, and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``

    Example:
        >>> import torch
        >>> from unifilter.nn import FAGCN
        >>> FAGCN(16, 32, 2)(torch.randn(3, 16), torch.tensor([[0, 1], [1, 2]])).shape
        torch.Size([3, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        epsilon: float = 0.3,
    ) -> None:
        super().__init__()
        check_count("num_layers", num_layers, "the authors' code uses 2")
        self.dropout, self.epsilon = check_rate("dropout", dropout), epsilon
        self.input = InputLinear(in_channels, hidden_channels)
        self.gates = nn.ModuleList(nn.Linear(2 * hidden_channels, 1) for _ in range(num_layers))
        self.output = nn.Linear(hidden_channels, out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for layer in [self.input, *self.gates, self.output]:
            if isinstance(layer, nn.Linear):
                layer.reset_parameters()
                nn.init.xavier_normal_(layer.weight, gain=_GAIN)

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        graph = self.graph_of(x, edge_index, edge_weight)
        rate = self.dropout if self.training else 0.0
        start = hidden = dropout(torch.relu(self.input(x, rate)), rate)
        for gate in self.gates:
            hidden = self.epsilon * start + _gated_sum(graph, gate, hidden, rate)
        logits: Tensor = self.output(hidden)
        return logits


def _gated_sum(graph: Graph, gate: Any, hidden: Tensor, rate: float) -> Tensor:
    edges = edge_rows(graph)
    of_row, of_column = (hidden @ gate.weight.view(2, -1).T).unbind(dim=1)
    gates = torch.tanh(edges.pairs(of_row + gate.bias, of_column))
    weights = gates * graph.propagation_matrix(hidden.dtype).values()
    return edges.weighted_sum(edges.dropout(weights, rate), hidden)
