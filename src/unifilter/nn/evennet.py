"""EvenNet: a filter on even powers of the propagation matrix alone."""

from __future__ import annotations

import torch

from unifilter._internal.checks import check_fraction, check_hops
from unifilter.bases import Even
from unifilter.nn.decoupled import DecoupledFilter


class EvenNet(DecoupledFilter):
    r"""EvenNet of "EvenNet: Ignoring Odd-Hop Neighbors Improves Robustness of Graph Neural Networks" (2022):

    .. math:: y = \sum_{2k \le K} w_k \mathbf{P}^{2k} \, \mathrm{MLP}(x).

    The weights start at :math:`\alpha (1-\alpha)^{2k}`; unlike those of PageRank they do not sum to 1.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        hops: Highest degree K.
        hidden_channels: Width of the MLP.
        alpha: Parameter of the initial weights.
        dropout: Dropout in the MLP.
        filter_dropout: Dropout between MLP and filter.

    Example:
        >>> import torch
        >>> from unifilter.nn import EvenNet
        >>> EvenNet(16, 2)(torch.randn(3, 16), torch.tensor([[0, 1], [1, 2]])).shape
        torch.Size([3, 2])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hops: int = 10,
        hidden_channels: int = 64,
        alpha: float = 0.1,
        dropout: float = 0.5,
        filter_dropout: float = 0.5,
    ) -> None:
        alpha = check_fraction("alpha", alpha)
        super().__init__(
            in_channels,
            out_channels,
            Even(),
            alpha * (1 - alpha) ** torch.arange(0, check_hops(hops) + 1, 2),
            hops=hops,
            hidden_channels=hidden_channels,
            dropout=dropout,
            filter_dropout=filter_dropout,
        )
