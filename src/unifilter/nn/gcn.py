"""Graph convolutional networks: the plain one, and one with residuals and normalization."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_count, check_rate
from unifilter.kernels.dropout import dropout
from unifilter.nn.convolution import Convolution
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.initialization import Initialization
from unifilter.nn.input_linear import InputLinear, as_input, drop_features
from unifilter.nn.norms import Norm, make_norm
from unifilter.nn.operators import propagation


class GCN(GraphModule):
    r"""Layers :math:`\mathrm{ReLU}(\tilde{\mathbf{P}} x \mathbf{W} + b)`, the last one without ReLU, of
    "Semi-Supervised Classification with Graph Convolutional Networks" (2017).

    Args:
        in_channels, hidden_channels, out_channels: Widths.
        num_layers: Number of layers.
        dropout: Dropout on the hidden layers.
        input_dropout: Whether the input is dropped too.
        initialization: Initialization of the layers; see :class:`unifilter.nn.convolution.Convolution`.

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
        num_layers: int = 2,
        dropout: float = 0.5,
        input_dropout: bool = False,
        initialization: Initialization = "glorot",
    ) -> None:
        super().__init__()
        check_count("num_layers", num_layers, "the paper uses 2")
        self.dropout, self.input_dropout = check_rate("dropout", dropout), input_dropout
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        self.layers = nn.ModuleList(Convolution(a, b, initialization) for a, b in itertools.pairwise(widths))

    def reset_parameters(self) -> None:
        for layer in [*self.layers]:
            layer.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        matrix = propagation(self.graph_of(x, edge_index, edge_weight), x.dtype)
        rate = self.dropout if self.training else 0.0
        first, *others = self.layers
        hidden: Tensor = first(drop_features(x, rate) if self.input_dropout else as_input(x), matrix)
        for layer in others:
            hidden = layer(dropout(torch.relu(hidden), rate), matrix)
        return hidden


class ResidualGCN(GraphModule):
    r"""Layers :math:`\mathrm{ReLU}(\mathrm{norm}(\tilde{\mathbf{P}} x \mathbf{W} + x \mathbf{U} + b))`, followed by
    dropout, and a linear layer at the end, of "Classic GNNs are Strong Baselines" (2024).

    Args:
        in_channels, hidden_channels, out_channels: Widths.
        num_layers: Number of convolutions.
        dropout: Dropout on the hidden layers.
        norm: ``"batch"``, ``"layer"`` or ``"none"``.
        residual: Whether there is the term :math:`x \mathbf{U}`.

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
        num_layers: int = 3,
        dropout: float = 0.5,
        norm: Norm = "batch",
        residual: bool = True,
    ) -> None:
        super().__init__()
        check_count("num_layers", num_layers, "its authors use 2 to 12")
        self.dropout = check_rate("dropout", dropout)
        widths = [in_channels, *[hidden_channels] * (num_layers - 1)]
        self.layers = nn.ModuleList(Convolution(width, hidden_channels) for width in widths)
        self.residuals = nn.ModuleList(InputLinear(width, hidden_channels) for width in widths) if residual else None
        self.norms = nn.ModuleList(make_norm(norm, hidden_channels) for _ in widths)
        self.output = nn.Linear(hidden_channels, out_channels)

    def reset_parameters(self) -> None:
        for layer in [*self.layers, *(self.residuals or []), *self.norms, self.output]:
            if not isinstance(layer, nn.Identity):
                layer.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        matrix = propagation(self.graph_of(x, edge_index, edge_weight), x.dtype)
        x = as_input(x)
        for index, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True)):
            mixed = layer(x, matrix)
            if self.residuals is not None:
                mixed = mixed + self.residuals[index](x)
            x = dropout(torch.relu(norm(mixed)), self.dropout if self.training else 0.0)
        logits: Tensor = self.output(x)
        return logits
