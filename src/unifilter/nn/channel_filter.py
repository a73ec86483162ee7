"""Base of OptBasisGNN and FavardGNN: each hidden channel has its own polynomial basis and its own filter."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_hops, check_rate
from unifilter.kernels.dropout import dropout
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.input_linear import InputLinear

Propagate = Callable[[Tensor], Tensor]


class ChannelFilter(GraphModule):
    r"""A linear layer with ReLU, filters on its channels, and a linear layer:

    .. math:: z_c = \sum_{k=0}^{K} \alpha_{kc} v_k(h_c), \qquad h = \mathrm{ReLU}(x \mathbf{W}_1 + b_1).

    A subclass defines :math:`v_0, \dots, v_K` in :meth:`vectors`. :math:`\alpha` starts at 1 for k = 0 and at 0
    for the others.

    Args:
        in_channels: Number of features.
        hidden_channels: Number of hidden channels.
        out_channels: Number of classes.
        hops: Number of hops K.
        dropout: Dropout on the input, and again in front of the last layer.
        hidden_dropout: Dropout on the hidden channels.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        hops: int = 10,
        dropout: float = 0.5,
        hidden_dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.hops = check_hops(hops)
        self.dropout = check_rate("dropout", dropout)
        self.hidden_dropout = check_rate("hidden_dropout", hidden_dropout)
        self.input = InputLinear(in_channels, hidden_channels)
        self.filter_weights = nn.Parameter(torch.zeros(hops + 1, hidden_channels))
        nn.init.ones_(self.filter_weights[0])
        self.output = nn.Linear(hidden_channels, out_channels)

    def vectors(self, propagate: Propagate, hidden: Tensor) -> Iterator[Tensor]:
        """The basis of every hidden channel, ``v_0`` to ``v_hops``, each ``[num_nodes, hidden_channels]``."""
        raise NotImplementedError

    def reset_parameters(self) -> None:
        self.input.reset_parameters()
        self.output.reset_parameters()
        nn.init.zeros_(self.filter_weights)
        nn.init.ones_(self.filter_weights[0])

    def hidden(self, x: Features) -> Tensor:
        """The hidden channels before the filter, ``[num_nodes, hidden_channels]``."""
        hidden = torch.relu(self.input(x, self.dropout if self.training else 0.0))
        return dropout(hidden, self.hidden_dropout if self.training else 0.0)

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        graph = self.graph_of(x, edge_index, edge_weight)
        hidden = self.hidden(x)
        filtered = torch.zeros_like(hidden)

        def propagate(signal: Tensor) -> Tensor:
            return graph.propagate(signal, check_finite=False)

        for weight, vector in zip(self.filter_weights, self.vectors(propagate, hidden), strict=True):
            filtered = torch.addcmul(filtered, weight, vector)
        logits: Tensor = self.output(dropout(filtered, self.dropout if self.training else 0.0))
        return logits
