"""LINKX: an MLP on the rows of the adjacency matrix, one on the features, and one on both."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_count, check_rate
from unifilter.kernels.dropout import dropout
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.input_linear import InputLinear
from unifilter.nn.node_linear import NodeLinear
from unifilter.nn.operators import neighbor_sum


class LINKX(GraphModule):
    r"""LINKX of "Large Scale Learning on Non-Homophilous Graphs" (2021):

    .. math::
        h_A = \mathrm{MLP}_A(\mathbf{A}), \quad h_X = \mathrm{MLP}_X(x), \quad
        y = \mathrm{MLP}_f\big(\mathrm{ReLU}(\mathbf{W}[h_A \Vert h_X] + h_A + h_X)\big).

    The first layer of :math:`\mathrm{MLP}_A` has one weight per node, so the model works on one graph only. All three
    are linear maps with ReLU, batch normalization and dropout between them, in this order; only the last MLP has
    dropout.

    Args:
        num_nodes: Number of nodes.
        in_channels, hidden_channels, out_channels: Widths.
        num_layers: Number of linear maps of :math:`\mathrm{MLP}_f`.
        num_edge_layers: Number of linear maps of :math:`\mathrm{MLP}_A`.
        num_node_layers: Number of linear maps of :math:`\mathrm{MLP}_X`.
        dropout: Dropout in :math:`\mathrm{MLP}_f`.

    Shapes:
        - input: features ``[num_nodes, in_channels]``, dense or sparse, and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``

    Example:
        >>> import torch
        >>> from unifilter.nn import LINKX
        >>> LINKX(3, 16, 8, 2)(torch.randn(3, 16), torch.tensor([[0, 1], [1, 2]])).shape
        torch.Size([3, 2])
    """

    takes_directed = True

    def __init__(
        self,
        num_nodes: int,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        num_edge_layers: int = 1,
        num_node_layers: int = 1,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        check_count("num_layers", num_layers, "the paper searches 1 to 4")
        check_count("num_edge_layers", num_edge_layers, "the paper searches 1 and 2")
        check_count("num_node_layers", num_node_layers, "the paper searches 1 and 2")
        self.num_nodes = num_nodes
        width = hidden_channels
        self.edge_mlp = _NormedMLP(NodeLinear(num_nodes, width), width, width, num_edge_layers)
        self.node_mlp = _NormedMLP(InputLinear(in_channels, width), width, width, num_node_layers)
        self.mix = nn.Linear(2 * width, width)
        first = nn.Linear(width, width if num_layers > 1 else out_channels)
        self.final_mlp = _NormedMLP(first, width, out_channels, num_layers, check_rate("dropout", dropout))

    def reset_parameters(self) -> None:
        for module in self.modules():
            if isinstance(module, (NodeLinear, nn.Linear, nn.BatchNorm1d)):
                module.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        graph = self.graph_of(x, edge_index, edge_weight)
        of_edges, of_features = self.edge_mlp(neighbor_sum(graph, x.dtype)), self.node_mlp(x)
        both = self.mix(torch.cat([of_edges, of_features], dim=1)) + of_edges + of_features
        logits: Tensor = self.final_mlp(torch.relu(both))
        return logits


class _NormedMLP(nn.Module):
    """Linear maps, the first of which is given; ReLU, batch normalization and dropout between them."""

    def __init__(self, first: nn.Module, hidden: int, out: int, num_layers: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.first, self.dropout = first, dropout
        widths = [*[hidden] * (num_layers - 2), out][: num_layers - 1]
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden) for _ in widths)
        self.layers = nn.ModuleList(nn.Linear(hidden, width) for width in widths)

    def forward(self, x: object) -> Tensor:
        hidden: Tensor = self.first(x)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            hidden = layer(dropout(norm(torch.relu(hidden)), self.dropout if self.training else 0.0))
        return hidden
