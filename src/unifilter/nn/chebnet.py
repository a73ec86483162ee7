"""ChebNet: layers of Chebyshev polynomials."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_hops, check_rate
from unifilter.graph import Graph
from unifilter.kernels.dropout import dropout
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.input_linear import as_input


class ChebNet(GraphModule):
    r"""Two layers :math:`\sum_{k=0}^{K} T_k(\hat{\mathbf{L}})\, x\, \Theta_k + b`, ReLU and dropout between them, from
    "Convolutional Neural Networks on Graphs with Fast Localized Spectral Filtering" (2016).

    :math:`\hat{\mathbf{L}} = 2\mathbf{L}/\lambda_{\max} - \mathbf{I}` with :math:`\lambda_{\max} = 2`, which is
    :math:`-\mathbf{P}`. A layer is equivalent to PyG's ``ChebConv`` with K + 1 terms, but projects before it
    propagates: a product with the graph has one column per output of the layer, not per feature.

    Args:
        in_channels: Number of features.
        hidden_channels: Width of the hidden layer.
        out_channels: Number of classes.
        hops: The degree K of each layer.
        dropout: Dropout on the hidden layer.

    Shapes:
        - input: features ``[num_nodes, in_channels]``, dense or sparse, and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, hops: int = 1, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.dropout = check_rate("dropout", dropout)
        self.first = ChebLayer(in_channels, hidden_channels, hops)
        self.second = ChebLayer(hidden_channels, out_channels, hops)

    def reset_parameters(self) -> None:
        self.first.reset_parameters()
        self.second.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        graph = self.graph_of(x, edge_index, edge_weight)
        hidden = torch.relu(self.first(as_input(x), graph))
        logits: Tensor = self.second(dropout(hidden, self.dropout if self.training else 0.0), graph)
        return logits


class ChebLayer(nn.Module):
    """One layer of :class:`ChebNet`; weights ``[hops + 1, in, out]``."""

    def __init__(self, in_channels: int, out_channels: int, hops: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(check_hops(hops) + 1, in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for matrix in self.weight:
            nn.init.xavier_uniform_(matrix)
        nn.init.zeros_(self.bias)

    def forward(self, x: Features, graph: Graph) -> Tensor:
        terms, _, width = self.weight.shape
        projected = torch.split(x @ self.weight.transpose(0, 1).reshape(x.shape[1], -1), width, dim=1)
        # Clenshaw's recurrence: the highest term first, one product with the graph per degree.
        after, current = torch.zeros_like(projected[-1]), projected[-1]
        for k in range(terms - 2, 0, -1):
            after, current = current, projected[k] - 2 * graph.propagate(current, check_finite=False) - after
        return projected[0] - graph.propagate(current, check_finite=False) - after + self.bias
