"""The MLP after the filter."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_count, check_rate
from unifilter.kernels.dropout import dropout
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.initialization import uniform
from unifilter.nn.input_linear import as_dense


class MLP(GraphModule):
    r"""Layers :math:`x \mapsto \mathrm{ReLU}(\mathrm{dropout}(x)\mathbf{W})`, the last one without ReLU.

    As in the paper's experiments: no bias, optional batch normalization of the hidden layers, and a residual
    connection around every layer with equal input and output widths. Weights start uniform within
    :math:`\pm 1/\sqrt{\text{out}}`. With ``plain=True`` it is the baseline MLP of papers on polynomial filters: biases,
    torch's own initial weights, and no residual connections.

    Args:
        in_channels: Width of the input.
        hidden_channels: Width of the hidden layers.
        out_channels: Width of the output.
        num_layers: Number of layers; 1 is a linear map.
        dropout: Share of the inputs of each layer that are dropped in training.
        batch_norm: Normalize the hidden layers over the batch.
        plain: Biases and torch's initial weights, without residual connections.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        batch_norm: bool = False,
        plain: bool = False,
    ) -> None:
        super().__init__()
        check_count("hidden_channels", hidden_channels, "the paper uses 128 to 2048")
        check_count("num_layers", num_layers, "the paper uses 2 to 6")
        self.dropout, self.plain = check_rate("dropout", dropout), plain
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        self.layers = nn.ModuleList(nn.Linear(a, b, bias=plain) for a, b in pairwise(widths))
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) if batch_norm else nn.Identity() for width in widths[1:-1])
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for layer in [*self.layers, *self.norms]:
            if isinstance(layer, nn.Linear) and not self.plain:
                uniform(layer.weight)
            elif isinstance(layer, (nn.Linear, nn.BatchNorm1d)):
                layer.reset_parameters()

    @property
    def first(self) -> nn.Linear:
        """The layer that reads the input."""
        return cast(nn.Linear, self.layers[0])

    @property
    def rate(self) -> float:
        """Current dropout rate of each layer's input, 0 in evaluation."""
        return self.dropout if self.training else 0.0

    def forward(self, x: Features, edge_index: EdgeIndex | None = None, edge_weight: Tensor | None = None) -> Tensor:
        """Logits ``[rows, out_channels]`` from ``[rows, in_channels]``; the graph is ignored."""
        dense = dropout(as_dense(x), self.rate)
        return self.behind_first(self.layers[0](dense), dense)

    def node_inputs(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        return as_dense(x)

    def on_node_inputs(self, rows: Tensor) -> Tensor:
        return self(rows)  # type: ignore[no-any-return]

    def forward_on(self, make_input: Callable[..., Tensor]) -> Tensor:
        """The forward pass on an input that is computed and passed through the first layer in one step, to save memory.

        In evaluation the module is called as usual, so that hooks on the module and its layers run.

        Args:
            make_input: Function that returns the input with dropout of :attr:`rate`; with ``linear=`` the weight of a
                layer, it returns the output of that layer.
        """
        if not self.training:
            return self(make_input())  # type: ignore[no-any-return]
        first = self.first
        if first.in_features != first.out_features and not self.plain:
            return self.behind_first(make_input(linear=first.weight), None)
        x = make_input()
        return self.behind_first(first(x), x)

    def behind_first(self, out: Tensor, x: Tensor | None = None) -> Tensor:
        """The later layers, from the output of the first layer; ``x`` is needed only for a residual connection."""
        for norm, layer in zip(self.norms, self.layers[1:], strict=True):
            x = dropout(torch.relu(self._with_input(norm(out), x)), self.rate)
            out = layer(x)
        return self._with_input(out, x)

    def _with_input(self, out: Tensor, x: Tensor | None) -> Tensor:
        return out if self.plain or x is None or x.shape != out.shape else out + x
