"""OptBasisGNN: each hidden channel has its own orthonormal polynomial basis."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from unifilter.bases import Orthonormal, Tridiagonal
from unifilter.factorization import factorize
from unifilter.nn.channel_filter import ChannelFilter, Propagate
from unifilter.nn.graph_module import EdgeIndex, Features


class OptBasisGNN(ChannelFilter):
    r"""OptBasisGNN of "Graph Neural Networks with Learnable and Optimal Polynomial Bases" (2023):

    .. math:: z_c = \sum_{k=0}^{K} \alpha_{kc} v_k(h_c), \qquad h = \mathrm{ReLU}(x \mathbf{W}_1 + b_1),

    where :math:`v_0, \dots, v_K` are the Lanczos vectors of hidden channel :math:`h_c`; a linear layer follows. The
    hidden channels and their vectors change in training, so nothing can be precomputed: the gradient passes through the
    orthogonalization. :math:`\alpha` starts at 1 for k = 0 and at 0 for the others.

    Args:
        in_channels: Number of features.
        hidden_channels: Number of hidden channels.
        out_channels: Number of classes.
        hops: Number of hops K.
        dropout: Dropout on the input, and again in front of the last layer.
        hidden_dropout: Dropout on the hidden channels.
        noise: Standard deviation of normal noise added to the hidden channels in training. The published code adds
            1e-5, which the paper does not mention. The noise matters: it turns a zero channel into a random unit
            vector.
        noise_in_evaluation: Add the noise in evaluation too, as the published code does. The noise is fixed, so
            that predictions are reproducible.

    Shapes:
        - input: features ``[num_nodes, in_channels]``, dense or sparse, and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``
    """

    # Tridiagonal of the hidden channels at the last call of `remember_basis`.
    lazy_buffers = ("alpha", "beta", "norm", "dimension")
    alpha: Tensor | None
    beta: Tensor
    norm: Tensor
    dimension: Tensor

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        hops: int = 10,
        dropout: float = 0.5,
        hidden_dropout: float = 0.5,
        noise: float = 0.0,
        noise_in_evaluation: bool = False,
    ) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, hops, dropout, hidden_dropout)
        self.noise, self.noise_in_evaluation = noise, noise_in_evaluation

    def vectors(self, propagate: Propagate, hidden: Tensor) -> Iterator[Tensor]:
        return lanczos_vectors(propagate, hidden, self.hops)

    def hidden(self, x: Features) -> Tensor:
        hidden = super().hidden(x)
        if self.noise == 0 or not (self.training or self.noise_in_evaluation):
            return hidden
        generator = None if self.training else torch.Generator().manual_seed(0)
        return hidden + self.noise * torch.randn(hidden.shape, generator=generator).to(hidden)

    @torch.no_grad()
    def remember_basis(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> None:
        """Store the current polynomials of the hidden channels for :meth:`response`."""
        self.eval()
        found = factorize(self.graph_of(x, edge_index, edge_weight), self.hidden(x), self.hops).tridiagonal
        self.alpha, self.beta, self.norm, self.dimension = found.alpha, found.beta, found.norm, found.dimension

    @torch.no_grad()
    def response(self, lam: Tensor) -> Tensor | None:
        """The filter of each hidden channel, ``[*lam.shape, hidden_channels]``, after :meth:`remember_basis`."""
        if self.alpha is None:
            return None
        hidden = Tridiagonal(self.alpha, self.beta, self.norm, self.dimension)
        return torch.einsum("k...c,kc->...c", Orthonormal().evaluate(lam, hidden), self.filter_weights)


def lanczos_vectors(propagate: Propagate, x: Tensor, hops: int) -> Iterator[Tensor]:
    """The Lanczos vectors of each column, ``v_0`` to ``v_hops``, each ``[num_nodes, channels]``; differentiable.

    As in :func:`unifilter.factorize`, the vectors of a column that spans fewer dimensions are zero from there on; the
    published code normalizes their rounding errors instead.
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
