"""GPR-GNN: free weights on the powers of the propagation matrix."""

from __future__ import annotations

import torch
from torch import Tensor

from unifilter._internal.checks import check_fraction, check_hops
from unifilter.bases import Monomial
from unifilter.nn.decoupled import DecoupledFilter


class GPRGNN(DecoupledFilter):
    r"""GPR-GNN of "Adaptive Universal Generalized PageRank Graph Neural Network" (2021):

    .. math:: y = \sum_{k=0}^{K} \gamma_k \tilde{\mathbf{P}}^k \, \mathrm{MLP}(x),

    where :math:`\tilde{\mathbf{P}}` has self-loops and :math:`\gamma` starts as the weights of personalized PageRank.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        hops: Degree K.
        hidden_channels: Width of the MLP.
        alpha: Restart probability of the PageRank that the weights start from; 1 starts with the identity, 0 with
            :math:`\tilde{\mathbf{P}}^K`.
        dropout: Dropout in the MLP.
        filter_dropout: Dropout between MLP and filter.

    Example:
        >>> import torch
        >>> from unifilter.nn import GPRGNN
        >>> GPRGNN(16, 2)(torch.randn(3, 16), torch.tensor([[0, 1], [1, 2]])).shape
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
        super().__init__(
            in_channels,
            out_channels,
            Monomial(),
            pagerank_weights(alpha, hops),
            hops=hops,
            hidden_channels=hidden_channels,
            dropout=dropout,
            filter_dropout=filter_dropout,
            self_loops="add",
        )


def pagerank_weights(alpha: float, hops: int) -> Tensor:
    r""":math:`\alpha (1-\alpha)^k`, and :math:`(1-\alpha)^K` for the last, so that they sum to 1; ``[hops + 1]``."""
    check_fraction("alpha", alpha)
    weights = alpha * (1 - alpha) ** torch.arange(check_hops(hops) + 1, dtype=torch.float64)
    weights[-1] = (1 - alpha) ** hops
    return weights.float()
