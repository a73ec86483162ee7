"""SGC: a linear model on the features of the K-hop neighborhood."""

from __future__ import annotations

from torch import Tensor, nn

from unifilter._internal.checks import check_hops, check_rate
from unifilter.kernels.dropout import dropout
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.input_linear import as_dense


class SGC(GraphModule):
    r"""SGC of "Simplifying Graph Convolutional Networks" (2019): logits
    :math:`\tilde{\mathbf{P}}^K \mathbf{X}\mathbf{W} + b`, with a self-loop on every node.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        hops: The power K.
        dropout: Dropout on the propagated features.

    Shapes:
        - input: features ``[num_nodes, in_channels]`` and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``
    """

    self_loops = "add"

    def __init__(self, in_channels: int, out_channels: int, hops: int = 2, dropout: float = 0.0) -> None:
        super().__init__()
        self.hops, self.dropout = check_hops(hops), check_rate("dropout", dropout)
        self.linear = nn.Linear(in_channels, out_channels)

    def reset_parameters(self) -> None:
        self.linear.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        return self.forward_propagated(self.node_inputs(x, edge_index, edge_weight))

    def node_inputs(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        graph = self.graph_of(x, edge_index, edge_weight)
        propagated = as_dense(x)
        for _ in range(self.hops):
            propagated = graph.propagate(propagated, check_finite=False)
        return propagated

    def on_node_inputs(self, rows: Tensor) -> Tensor:
        return self.forward_propagated(rows)

    def forward_propagated(self, rows: Tensor) -> Tensor:
        r"""Logits from what is precomputed: :math:`\tilde{\mathbf{P}}^K x` of some rows."""
        logits: Tensor = self.linear(dropout(rows, self.dropout if self.training else 0.0))
        return logits

    def response(self, lam: Tensor) -> Tensor:
        r""":math:`(1-\lambda)^K`, for eigenvalues of the Laplacian of the graph *with* self-loops; the same for all
        channels, ``[*lam.shape, in_channels]``.
        """
        power: Tensor = (1 - lam) ** self.hops
        return power[..., None].expand(*lam.shape, self.linear.in_features)
