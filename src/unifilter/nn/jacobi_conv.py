"""JacobiConv: a linear model with one filter per class."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_hops, check_rate
from unifilter.bases import Jacobi, to_chebyshev
from unifilter.kernels.dropout import dropout
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.input_linear import InputLinear
from unifilter.nn.polynomial_filter import filter_response, filter_signal


class JacobiConv(GraphModule):
    r"""JacobiConv of "How Powerful are Spectral Graph Neural Networks" (ICML 2022), which has no non-linearity:

    .. math::
        y_c = \sum_{k=0}^{K} \beta_{kc} \Big( \prod_{i<k} \alpha_i \Big) P_k^{(a,b)}(\mathbf{P}) \, h_c, \qquad
        h = \mathrm{dropout}(\mathrm{dropout}(x) \mathbf{W} + b), \qquad \alpha_i = \bar\alpha \tanh \eta_i.

    The authors multiply by :math:`\alpha_i` inside the recurrence of the polynomials, which gives the same products.
    :math:`\eta_i` starts at :math:`\min(1/\bar\alpha, 1)` and :math:`\beta_{kc}` at 1.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        basis: The polynomials. Default: Jacobi polynomials with a = b = 1.
        hops: Degree K.
        alpha: The bound :math:`\bar\alpha` of the factors.
        dropout: Dropout on the features.
        filter_dropout: Dropout between the linear map and the filter.

    Shapes:
        - input: features ``[num_nodes, in_channels]``, dense or sparse, and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``

    Example:
        >>> import torch
        >>> from unifilter.nn import JacobiConv
        >>> model = JacobiConv(16, 2)
        >>> model(torch.randn(3, 16), torch.tensor([[0, 1], [1, 2]])).shape
        torch.Size([3, 2])
    """

    to_chebyshev: Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        basis: Jacobi | None = None,
        hops: int = 10,
        alpha: float = 1.0,
        dropout: float = 0.5,
        filter_dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if not 0 < alpha < math.inf:
            raise ValueError(f"alpha must be a number above 0, not {alpha!r}: the paper uses 0.5 to 2")
        self.alpha = alpha
        self.dropout = check_rate("dropout", dropout)
        self.filter_dropout = check_rate("filter_dropout", filter_dropout)
        self.linear = InputLinear(in_channels, out_channels)
        self.eta = nn.Parameter(torch.empty(check_hops(hops)))
        self.beta = nn.Parameter(torch.empty(hops + 1, out_channels))
        matrix = to_chebyshev(basis or Jacobi(), hops)
        self.register_buffer("to_chebyshev", matrix.to(self.beta.dtype), persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.linear.reset_parameters()
        nn.init.constant_(self.eta, min(1 / self.alpha, 1))
        nn.init.ones_(self.beta)

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        graph = self.graph_of(x, edge_index, edge_weight)
        hidden = self.linear(x, self._now(self.dropout))
        return filter_signal(graph, dropout(hidden, self._now(self.filter_dropout)), self.chebyshev_weights())

    def chebyshev_weights(self) -> Tensor:
        """The filters' weights on Chebyshev polynomials, ``[hops + 1, out_channels]``."""
        factors = torch.cumprod(self.alpha * torch.tanh(self.eta), dim=0)
        factors = torch.cat([torch.ones_like(factors[:1]), factors])
        return self.to_chebyshev.T @ (factors[:, None] * self.beta)

    def response(self, lam: Tensor) -> Tensor:
        """The learned filters as functions of the Laplacian eigenvalue, ``[*lam.shape, out_channels]``."""
        return filter_response(self.chebyshev_weights(), lam).detach()

    def parameter_groups(
        self, lrs: tuple[float, float, float], weight_decays: tuple[float, float, float]
    ) -> list[dict[str, Any]]:
        """Parameter groups for a torch optimizer: the linear map, the factors, the weights."""
        groups = [list(self.linear.parameters()), [self.eta], [self.beta]]
        return [
            {"params": group, "lr": lr, "weight_decay": weight_decay}
            for group, lr, weight_decay in zip(groups, lrs, weight_decays, strict=True)
        ]

    def _now(self, rate: float) -> float:
        return rate if self.training else 0.0
