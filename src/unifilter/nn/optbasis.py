"""OptBasisGNN: each hidden channel has the polynomial basis that is orthonormal for it."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_hops, check_rate
from unifilter.bases.base import Multiply
from unifilter.kernels.dropout import dropout
from unifilter.nn.input_linear import Features, InputLinear


class OptBasisGNN(nn.Module):
    r"""OptBasisGNN of "Graph Neural Networks with Learnable and Optimal Polynomial Bases" (2023):

    .. math:: z_c = \sum_{k=0}^{K} \alpha_{kc} v_k(h_c), \qquad h = \mathrm{ReLU}(x \mathbf{W}_1 + b_1),

    where :math:`v_0, \dots, v_K` are the Lanczos vectors of hidden channel :math:`h_c`; a linear layer follows. The
    hidden channels change in training and their vectors with them, so nothing can be computed beforehand: the gradient
    runs through the orthogonalisation. :math:`\alpha` starts at 1 for k = 0 and at 0 for the others.

    Args:
        in_channels: Number of features.
        hidden_channels: Number of hidden channels.
        out_channels: Number of classes.
        hops: Number of hops K.
        dropout: Dropout on the input, and again in front of the last layer.
        hidden_dropout: Dropout on the hidden channels.
        noise: Standard deviation of normal noise added to the hidden channels, in training and in evaluation. The
            published code adds 1e-5, which the paper does not mention: predictions then differ from call to call.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        hops: int = 10,
        dropout: float = 0.5,
        hidden_dropout: float = 0.5,
        noise: float = 0.0,
    ) -> None:
        super().__init__()
        self.hops = check_hops(hops)
        self.dropout = check_rate("dropout", dropout)
        self.hidden_dropout = check_rate("hidden_dropout", hidden_dropout)
        self.noise = noise
        self.input = InputLinear(in_channels, hidden_channels)
        self.filter_weights = nn.Parameter(torch.zeros(hops + 1, hidden_channels))
        nn.init.ones_(self.filter_weights[0])
        self.output = nn.Linear(hidden_channels, out_channels)

    def hidden(self, x: Features) -> Tensor:
        """The channels that are filtered, ``[num_nodes, hidden_channels]``."""
        hidden = torch.relu(self.input(x, self.dropout if self.training else 0.0))
        hidden = dropout(hidden, self.hidden_dropout if self.training else 0.0)
        return hidden + self.noise * torch.randn_like(hidden) if self.noise > 0 else hidden

    def forward(self, x: Features, propagate: Multiply) -> Tensor:
        """Logits of all nodes, from their features and the product with P."""
        hidden = self.hidden(x)
        filtered = torch.zeros_like(hidden)
        for weight, vector in zip(self.filter_weights, lanczos_vectors(propagate, hidden, self.hops), strict=True):
            filtered = torch.addcmul(filtered, weight, vector)
        logits: Tensor = self.output(dropout(filtered, self.dropout if self.training else 0.0))
        return logits


def lanczos_vectors(propagate: Multiply, x: Tensor, hops: int) -> Iterator[Tensor]:
    """The Lanczos vectors of each column, ``v_0`` to ``v_hops``, each ``[num_nodes, channels]``; differentiable.

    As in :func:`unifilter.factorize`, the vectors of a column that spans fewer dimensions are zero from there on; the
    published code divides what rounding left of them by its length instead.
    """
    reached_from = 16 * torch.finfo(x.dtype).eps  # of the squared length
    square = (x * x).sum(dim=0)
    alive = square > 0
    before, current = torch.zeros_like(x), x * _inverse_root(square, alive)
    yield current
    for _ in range(hops):
        rest = propagate(current)
        propagated = rest.detach().square().sum(dim=0)
        for vector in (current, before):
            rest = torch.addcmul(rest, (rest * vector).sum(dim=0), vector, value=-1)
        square = (rest * rest).sum(dim=0)
        alive = alive & (square.detach() > reached_from * propagated)
        before, current = current, rest * _inverse_root(square, alive)
        yield current


def _inverse_root(square: Tensor, alive: Tensor) -> Tensor:
    # The root of 1 where it is not looked at: that of zero would make the gradient NaN.
    return torch.where(alive, torch.where(alive, square, 1.0).rsqrt(), 0.0)
