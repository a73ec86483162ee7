"""ASGC: a least-squares filter for every feature, then logistic regression."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_hops
from unifilter.bases import Monomial
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.input_linear import as_dense


class ASGC(GraphModule):
    r"""ASGC of "Simplified Graph Convolution with Heterophily" (2022): logits
    :math:`\big(\sum_{k=0}^{K} \beta_k \circ \mathbf{P}^k x\big) \mathbf{W} + b`.

    Every feature has weights :math:`\beta` of its own, which come from least squares and not from the labels
    (:func:`unifilter.methods.asgc.least_squares_filter`). P has no self-loops except one on each isolated node.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        hops: Degree K.

    Shapes:
        - input: features ``[num_nodes, in_channels]`` and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``
    """

    # The filter, float64 [hops + 1, in_channels]; the identity until it is set.
    filter_weights: Tensor

    def __init__(self, in_channels: int, out_channels: int, hops: int = 2) -> None:
        super().__init__()
        self.hops = check_hops(hops)
        self.register_buffer("filter_weights", torch.zeros(hops + 1, in_channels, dtype=torch.float64))
        self.filter_weights[0] = 1
        self.linear = nn.Linear(in_channels, out_channels)

    def reset_parameters(self) -> None:
        self.linear.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        return self.forward_filtered(self.node_inputs(x, edge_index, edge_weight))

    def node_inputs(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        graph, power = self.graph_of(x, edge_index, edge_weight), as_dense(x)
        weights = self.filter_weights.to(power)
        # A loop of weight 1 keeps what an isolated node has, so that every power of P is the same there.
        alone, start = graph.isolated, power[graph.isolated]
        total = weights[0] * power
        for weight in weights[1:]:
            power = graph.propagate(power, check_finite=False)
            total = total + weight * power
        total[alone] = start * weights.sum(dim=0)
        return total

    def on_node_inputs(self, rows: Tensor) -> Tensor:
        return self.forward_filtered(rows)

    def forward_filtered(self, rows: Tensor) -> Tensor:
        """Logits from precomputed rows of filtered features."""
        logits: Tensor = self.linear(rows)
        return logits

    def response(self, lam: Tensor) -> Tensor:
        """The filter of each feature, ``[*lam.shape, in_channels]``."""
        powers = Monomial().evaluate(lam.double(), hops=self.hops)
        return torch.einsum("k...,kc->...c", powers, self.filter_weights.double()).to(self.linear.weight)
