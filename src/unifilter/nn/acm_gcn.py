"""ACM-GCN: every node mixes low-pass, high-pass and identity channels with its own weights."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_rate
from unifilter.kernels.dropout import dropout
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.input_linear import InputLinear, drop_features
from unifilter.nn.node_linear import NodeLinear
from unifilter.nn.operators import neighbor_mean, neighbor_sum
from unifilter.nn.sparse_rows import SparseRows


class ACMGCN(GraphModule):
    r"""ACM-GCN of "Revisiting Heterophily For Graph Neural Networks" (2022), with its variants.

    Each of two layers has a low-pass, a high-pass and an identity channel,

    .. math::
        h_L = \mathrm{ReLU}(\mathbf{R} x \mathbf{W}_L), \quad
        h_H = \mathrm{ReLU}((\mathbf{I} - \mathbf{R}) x \mathbf{W}_H), \quad
        h_I = \mathrm{ReLU}(x \mathbf{W}_I),

    where :math:`\mathbf{R}` takes the mean over a node and its neighbors, and mixes them node by node:

    .. math::
        y = 3 \sum_c \alpha_c \circ h_c, \quad
        \alpha = \mathrm{softmax}\big(\tfrac{1}{3}\,
        \sigma([h_L w_L \,\Vert\, h_H w_H \,\Vert\, h_I w_I])\, \mathbf{W}_\mathrm{mix}\big).

    Dropout is on the input of both layers, and a ReLU between them. The factor 3 is in the authors' code, not in their
    paper. With the structure channel :math:`\mathrm{ReLU}(\mathbf{A}\mathbf{W}_A)` there are four channels, and the
    factors are 1 and 1/4; it has one weight per node, so the model works on one graph only.

    ACM-GCN+ is ``layer_norm=True``, with or without the structure channel, and ACM-GCN++ adds ``residual=True``.
    The authors' code for small graphs never applies the layer norm, because it checks for a wrong model name. Their
    code for large graphs applies it, and so does this class.

    Args:
        in_channels, hidden_channels, out_channels: Widths of input, hidden layer and output.
        dropout: Dropout on the input of both layers, and on the residual.
        filter_last: Filter after the ReLU instead of before: ACMII-GCN.
        layer_norm: Normalize the channels where the mixture is computed from them.
        residual: Add :math:`\mathrm{ReLU}(x \mathbf{W}_X + b)` to the input of the second layer.
        num_nodes: Number of nodes for the structure channel; ``None`` for none.
        rectified: Whether the channels of the last layer have a ReLU too, as in the paper. The outputs are then never
            negative, which suits classification only.

    Shapes:
        - input: features ``[num_nodes, in_channels]``, dense or sparse, and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``

    Example:
        >>> import torch
        >>> from unifilter.nn import ACMGCN
        >>> ACMGCN(16, 8, 2)(torch.randn(3, 16), torch.tensor([[0, 1], [1, 2]])).shape
        torch.Size([3, 2])
    """

    self_loops = "add"
    takes_directed = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        dropout: float = 0.5,
        filter_last: bool = False,
        layer_norm: bool = False,
        residual: bool = False,
        num_nodes: int | None = None,
        rectified: bool = True,
    ) -> None:
        super().__init__()
        self.dropout, self.num_nodes = check_rate("dropout", dropout), num_nodes
        self.hidden = ChannelMixing(in_channels, hidden_channels, filter_last, layer_norm, num_nodes)
        self.output = ChannelMixing(hidden_channels, out_channels, filter_last, layer_norm, num_nodes, rectified)
        self.residual = InputLinear(in_channels, hidden_channels) if residual else None

    def reset_parameters(self) -> None:
        for layer in (self.hidden, self.output, self.residual):
            if layer is not None:
                layer.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        graph = self.graph_of(x, edge_index, edge_weight)
        mean = neighbor_mean(graph, x.dtype)
        adjacency = None if self.num_nodes is None else neighbor_sum(graph, x.dtype)
        rate = self.dropout if self.training else 0.0
        x = drop_features(x, rate)
        hidden = dropout(torch.relu(self.hidden(x, mean, adjacency)), rate)
        if self.residual is not None:
            hidden = hidden + dropout(torch.relu(self.residual(x)), rate)
        logits: Tensor = self.output(hidden, mean, adjacency)
        return logits


class ChannelMixing(nn.Module):
    """One layer of :class:`ACMGCN`."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        filter_last: bool,
        layer_norm: bool,
        num_nodes: int | None,
        rectified: bool = True,
    ) -> None:
        super().__init__()
        self.width, self.filter_last, self.rectified = out_channels, filter_last, rectified
        # The weights of the three channels side by side: one product with the input.
        self.linear = InputLinear(in_channels, 3 * out_channels, bias=False)
        self.structure = None if num_nodes is None else NodeLinear(num_nodes, out_channels, bias=False)
        count = 3 if num_nodes is None else 4
        self.norms = nn.ModuleList(nn.LayerNorm(out_channels) for _ in range(count)) if layer_norm else None
        self.attention = nn.Parameter(torch.empty(count, out_channels))
        self.mixing = nn.Parameter(torch.empty(count, count))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial weights, within the bounds of the authors' code."""
        bound = 1 / math.sqrt(self.width)
        nn.init.uniform_(self.linear.weight, -bound, bound)
        if self.structure is not None:
            nn.init.uniform_(self.structure.weight, -bound, bound)
        nn.init.uniform_(self.attention, -1, 1)
        nn.init.uniform_(self.mixing, -1 / math.sqrt(len(self.mixing)), 1 / math.sqrt(len(self.mixing)))
        for module in self.modules():
            if isinstance(module, nn.LayerNorm):
                module.reset_parameters()

    def forward(self, x: Features, mean: SparseRows, adjacency: SparseRows | None) -> Tensor:
        """Of an input, the mean over a node and its neighbors, and the adjacency with a loop on every node."""
        channels = self._channels(x, mean, adjacency)
        seen = channels if self.norms is None else [norm(c) for norm, c in zip(self.norms, channels, strict=True)]
        scores = torch.sigmoid(torch.stack([c @ w for c, w in zip(seen, self.attention, strict=True)], dim=1))
        shares = torch.softmax(scores @ self.mixing / len(channels), dim=1)
        mixed = torch.stack([s[:, None] * c for s, c in zip(shares.unbind(dim=1), channels, strict=True)]).sum(dim=0)
        return 3 * mixed if self.structure is None else mixed

    def _channels(self, x: Features, mean: SparseRows, adjacency: SparseRows | None) -> list[Tensor]:
        signals: Tensor = self.linear(x)
        if self.filter_last:
            signals = self._relu(signals)
        _, rough, own = signals.chunk(3, dim=1)
        # Both filters by one product: the high pass is the input minus the low pass.
        low, smooth = (mean @ signals[:, : 2 * self.width]).chunk(2, dim=1)
        channels = [low, rough - smooth, own]
        if not self.filter_last:
            channels = [self._relu(channel) for channel in channels]
        if self.structure is not None and adjacency is not None:
            # The loops are the filter's: A has none.
            channels.append(self._relu(self.structure(adjacency) - self.structure.weight))
        return channels

    def _relu(self, channel: Tensor) -> Tensor:
        return torch.relu(channel) if self.rectified else channel
