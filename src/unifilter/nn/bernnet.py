"""BernNet: non-negative weights on Bernstein polynomials."""

from __future__ import annotations

from unifilter.bases import Bernstein
from unifilter.nn.decoupled import DecoupledFilter


class BernNet(DecoupledFilter):
    r"""BernNet of "BernNet: Learning Arbitrary Graph Spectral Filters via Bernstein Approximation" (2021):

    .. math:: y = \sum_{k=0}^{K} \mathrm{ReLU}(\theta_k) \, B_k(\mathbf{L}) \, \mathrm{MLP}(x),

    with Bernstein polynomials :math:`B_k` on [0, 2]; it starts as the identity. Written out the filter takes
    :math:`K(K+3)/2` products with the graph; here it takes K, in Chebyshev polynomials.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        hops: Degree K.
        hidden_channels: Width of the MLP.
        dropout: Dropout in the MLP.
        filter_dropout: Dropout between MLP and filter.

    Example:
        >>> import torch
        >>> from unifilter.nn import BernNet
        >>> BernNet(16, 2)(torch.randn(3, 16), torch.tensor([[0, 1], [1, 2]])).shape
        torch.Size([3, 2])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hops: int = 10,
        hidden_channels: int = 64,
        dropout: float = 0.5,
        filter_dropout: float = 0.5,
    ) -> None:
        basis = Bernstein()
        super().__init__(
            in_channels,
            out_channels,
            basis,
            basis.identity_weights(hops),
            hops=hops,
            hidden_channels=hidden_channels,
            dropout=dropout,
            filter_dropout=filter_dropout,
            non_negative=True,
        )
