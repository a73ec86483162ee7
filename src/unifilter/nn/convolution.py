"""The layer of graph convolutional networks."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unifilter.nn.graph_module import Features
from unifilter.nn.initialization import Initialization, initialize
from unifilter.nn.input_linear import InputLinear
from unifilter.nn.sparse_rows import SparseRows


class Convolution(nn.Module):
    r"""The map :math:`x \mapsto \mathbf{P} (x \mathbf{W}) + b`. The product with the graph has the width of the output.

    Args:
        in_channels, out_channels: Widths of input and output.
        initialization: ``"glorot"`` weights and a bias of zero, or both ``"uniform"`` within
            :math:`\pm 1/\sqrt{\text{out}}`, as in Kipf's code for PyTorch.
    """

    def __init__(self, in_channels: int, out_channels: int, initialization: Initialization = "glorot") -> None:
        super().__init__()
        self.initialization = initialization
        self.linear = InputLinear(in_channels, out_channels, bias=False)
        self.bias = nn.Parameter(torch.zeros(out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        initialize(self.linear.weight, self.bias, self.initialization)

    def forward(self, x: Features, propagation: SparseRows) -> Tensor:
        product: Tensor = propagation @ self.linear(x)
        return product + self.bias
