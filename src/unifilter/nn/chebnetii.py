"""ChebNetII: the filter's values at the Chebyshev points are learned."""

from __future__ import annotations

from typing import Literal

from unifilter._internal.checks import check_choice
from unifilter.bases import ChebyshevInterpolation
from unifilter.nn.decoupled import DecoupledFilter


class ChebNetII(DecoupledFilter):
    r"""ChebNetII of "Convolutional Neural Networks on Graphs with Chebyshev Approximation, Revisited" (2022):

    .. math:: y = \sum_{j=0}^{K} \mathrm{ReLU}(g_j) \, \ell_j(\mathbf{L}) \, \mathrm{MLP}(x),

    where :math:`\ell_j` is 1 at the j-th Chebyshev point and 0 at the others; it starts as the identity.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        hops: Degree K.
        hidden_channels: Width of the MLP.
        num_layers: Number of layers of the MLP.
        dropout: Dropout in the MLP.
        filter_dropout: Dropout between MLP and filter.
        batch_norm: Batch normalization in the MLP.
        operator: What the Chebyshev polynomials are taken of: ``"laplacian"``, :math:`\mathbf{L} - \mathbf{I}`; or
            ``"adjacency"``, :math:`\tilde{\mathbf{P}}` with self-loops, as the authors do on Penn94.
        non_negative: Whether values below zero count as zero.

    Example:
        >>> import torch
        >>> from unifilter.nn import ChebNetII
        >>> ChebNetII(16, 2)(torch.randn(3, 16), torch.tensor([[0, 1], [1, 2]])).shape
        torch.Size([3, 2])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hops: int = 10,
        hidden_channels: int = 64,
        num_layers: int = 2,
        dropout: float = 0.5,
        filter_dropout: float = 0.5,
        batch_norm: bool = False,
        operator: Literal["laplacian", "adjacency"] = "laplacian",
        non_negative: bool = True,
    ) -> None:
        check_choice("operator", operator, ("laplacian", "adjacency"))
        basis = ChebyshevInterpolation()
        super().__init__(
            in_channels,
            out_channels,
            basis,
            basis.identity_weights(hops),
            hops=hops,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            dropout=dropout,
            filter_dropout=filter_dropout,
            batch_norm=batch_norm,
            non_negative=non_negative,
            mirrored=operator == "adjacency",
            self_loops="add" if operator == "adjacency" else "remove",
        )
