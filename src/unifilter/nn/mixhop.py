"""MixHop: layers that concatenate several powers of the propagation matrix."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_hops, check_rate
from unifilter.kernels.dropout import dropout
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.initialization import initialize
from unifilter.nn.input_linear import InputLinear, drop_features
from unifilter.nn.operators import propagation
from unifilter.nn.sparse_rows import SparseRows

# Below these a row has no direction, and a channel no spread, as in the authors' code.
_SMALLEST_SQUARE, _SMALLEST_VARIANCE = 1e-12, 1e-3


class MixHop(GraphModule):
    r"""Powers of the propagation matrix side by side, of "MixHop: Higher-Order Graph Convolutional Architectures via
    Sparsified Neighborhood Mixing" (2019):

    .. math::
        h = \mathrm{ReLU}\Big(\mathrm{norm}\Big(\Big\|_{k=0}^{K} \tilde{\mathbf{P}}^k x \mathbf{W}_k\Big) + b\Big),
        \qquad y = \sum_{k=0}^{K} \mathrm{softmax}(q)_k \, \tilde{\mathbf{P}}^k h \mathbf{V}_k

    Rows of the input have length 1 after their dropout. That changes the scale of the hidden layer, by about a factor
    of two where 70 % are dropped, so the means and variances of its channels are always those over the nodes at hand,
    in evaluation too, as in the authors' code. Features are projected before they are propagated.

    Args:
        in_channels: Number of features.
        hidden_channels: Width of the hidden layer, split evenly over the powers; the last has what is left over.
        out_channels: Number of classes.
        hops: Highest power K.
        input_dropout: Dropout on the input.
        dropout: Dropout on the hidden layer.

    Shapes:
        - input: features ``[num_nodes, in_channels]``, dense or sparse, and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``
    """

    self_loops = "add"
    takes_directed = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        hops: int = 2,
        input_dropout: float = 0.7,
        dropout: float = 0.9,
    ) -> None:
        super().__init__()
        powers = check_hops(hops) + 1
        if hidden_channels < powers:
            raise ValueError(
                f"hidden_channels is {hidden_channels}, and there are {powers} powers to share it: pass {powers} or "
                "more; the authors of H2GCN use 64 and 192"
            )
        share = hidden_channels // powers
        self.widths = [*[share] * hops, hidden_channels - share * hops]
        self.input_dropout = check_rate("input_dropout", input_dropout)
        self.dropout = check_rate("dropout", dropout)
        self.input = InputLinear(in_channels, hidden_channels, bias=False)
        self.output = nn.Linear(hidden_channels, powers * out_channels, bias=False)
        self.bias = nn.Parameter(torch.empty(hidden_channels))
        self.power_scores = nn.Parameter(torch.empty(powers))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        # Every power has a weight of its own, so its spread is that of its own width.
        of_input, of_output = self.input.weight.detach(), self.output.weight.detach()
        for weight in (*torch.split(of_input, self.widths), *of_output.chunk(len(self.widths))):
            initialize(weight)
        nn.init.zeros_(self.bias)
        nn.init.zeros_(self.power_scores)

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        matrix = propagation(self.graph_of(x, edge_index, edge_weight), x.dtype)
        rates = (self.input_dropout, self.dropout) if self.training else (0.0, 0.0)
        x = drop_features(x, rates[0])
        rest: Tensor = self.input(x) * _squares(x).clamp(min=_SMALLEST_SQUARE).rsqrt()
        parts = []
        for width in self.widths[:-1]:
            parts.append(rest[:, :width])
            rest = matrix @ rest[:, width:]
        hidden = dropout(torch.relu(_standardized(torch.cat([*parts, rest], dim=1)) + self.bias), rates[1])
        shares = torch.softmax(self.power_scores, dim=0)
        by_power: Tensor = self.output(hidden).view(len(hidden), len(shares), -1) * shares[:, None]
        # From the highest power down: as many products as hops, each as narrow as the output.
        *others, logits = by_power.unbind(dim=1)
        for part in reversed(others):
            logits = matrix @ logits + part
        return logits


def _squares(x: Features) -> Tensor:
    """Squared norm of each row, ``[rows, 1]``."""
    return x.squared_lengths() if isinstance(x, SparseRows) else x.square().sum(dim=1, keepdim=True)


def _standardized(x: Tensor) -> Tensor:
    variance, mean = torch.var_mean(x, dim=0, correction=0)
    return (x - mean) * (variance + _SMALLEST_VARIANCE).rsqrt()
