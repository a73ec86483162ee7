"""FavardGNN: each hidden channel learns the polynomial basis of its filter."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from unifilter.nn.channel_filter import ChannelFilter, Propagate

# The authors' lower bound of the divisors.
_SMALLEST_SCALE = 0.01


class FavardGNN(ChannelFilter):
    r"""FavardGNN of "Graph Neural Networks with Learnable and Optimal Polynomial Bases" (2023): the filter
    :math:`z_c = \sum_k \alpha_{kc} v_k(h_c)` of :class:`unifilter.nn.OptBasisGNN` on the basis

    .. math::
        v_0 = h_c / s_0, \qquad
        v_k = \big(\mathbf{P} v_{k-1} - \gamma_{k-1} v_{k-1} - s_{k-1} v_{k-2}\big) / s_k,

    whose :math:`\gamma` and :math:`s` are learned for every channel. By Favard's theorem each such recurrence gives
    polynomials that are orthonormal for some weight, and every weight has one. :math:`\gamma` starts at 0 and :math:`s`
    at 1; an :math:`s` below 0.01 is replaced by 0.01.

    Args:
        in_channels: Number of features.
        hidden_channels: Number of hidden channels.
        out_channels: Number of classes.
        hops: Number of hops K.
        dropout: Dropout on the input, and again in front of the last layer.
        hidden_dropout: Dropout on the hidden channels.

    Shapes:
        - input: features ``[num_nodes, in_channels]``, dense or sparse, and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        hops: int = 10,
        dropout: float = 0.5,
        hidden_dropout: float = 0.5,
    ) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, hops, dropout, hidden_dropout)
        self.shifts = nn.Parameter(torch.zeros(hops, hidden_channels))
        self.scales = nn.Parameter(torch.ones(hops + 1, hidden_channels))

    def reset_parameters(self) -> None:
        super().reset_parameters()
        nn.init.zeros_(self.shifts)
        nn.init.ones_(self.scales)

    def vectors(self, propagate: Propagate, hidden: Tensor) -> Iterator[Tensor]:
        scales = self.scales.clamp(min=_SMALLEST_SCALE)
        before, current = torch.zeros_like(hidden), hidden / scales[0]
        yield current
        for k, shift in enumerate(self.shifts):
            following = (propagate(current) - shift * current - scales[k] * before) / scales[k + 1]
            before, current = current, following
            yield current

    @torch.no_grad()
    def response(self, lam: Tensor) -> Tensor:
        """The filter of each hidden channel, ``[*lam.shape, hidden_channels]``."""
        eigenvalues = 1 - lam[..., None]  # of P
        ones = torch.ones(*lam.shape, self.scales.shape[1], dtype=lam.dtype, device=lam.device)
        values = torch.stack(list(self.vectors(lambda y: eigenvalues * y, ones)))
        return torch.einsum("k...c,kc->...c", values, self.filter_weights.to(values))
