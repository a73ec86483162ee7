"""SIGN: a layer of its own for every hop."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_hops, check_rate
from unifilter.kernels.dropout import dropout


class SIGN(nn.Module):
    r"""SIGN of "SIGN: Scalable Inception Graph Neural Networks" (2020):

    .. math::
        y = \Big[\mathrm{ReLU}(x\,\Theta_0) \,\Vert\, \mathrm{ReLU}(\mathbf{P}x\,\Theta_1) \,\Vert\, \dots \,\Vert\,
        \mathrm{ReLU}(\mathbf{P}^K x\,\Theta_K)\Big]\, \Omega

    Args:
        in_channels: Number of features.
        hidden_channels: Width of the layer of each hop.
        out_channels: Number of classes.
        hops: Number of hops K.
        dropout: Dropout on the hidden layer.

    Shapes:
        - input: powers ``[hops + 1, rows, in_channels]``
        - output: logits ``[rows, out_channels]``
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, hops: int = 3, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.dropout = check_rate("dropout", dropout)
        self.branches = nn.ModuleList(nn.Linear(in_channels, hidden_channels) for _ in range(check_hops(hops) + 1))
        self.output = nn.Linear((hops + 1) * hidden_channels, out_channels)

    def forward(self, powers: Tensor) -> Tensor:
        hidden = torch.cat(
            [torch.relu(branch(power)) for branch, power in zip(self.branches, powers, strict=True)], dim=1
        )
        logits: Tensor = self.output(dropout(hidden, self.dropout if self.training else 0.0))
        return logits
