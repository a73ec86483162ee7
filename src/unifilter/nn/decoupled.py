"""Models that transform each node's features first and then filter the result: GPR-GNN and its successors."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_choice, check_count, check_rate
from unifilter.bases import PolynomialBasis, to_chebyshev
from unifilter.graph import SelfLoops
from unifilter.kernels.dropout import dropout
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.input_linear import InputLinear
from unifilter.nn.polynomial_filter import filter_response, filter_signal


class DecoupledFilter(GraphModule):
    r"""An MLP with one output per class, then one polynomial filter for all outputs:

    .. math::
        y = \sum_k w_k \, p_k(\mathbf{P}) \, \mathrm{dropout}(\mathrm{MLP}(x))

    The MLP is dropout, linear map, ReLU, dropout, linear map. Each of the K products
    with the graph has one column per class, for any polynomials: the weights are first converted to weights on
    Chebyshev polynomials.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        basis: The polynomials :math:`p_k`.
        weights: Initial weights of the filter, one per polynomial.
        hops: Degree K.
        hidden_channels: Width of the hidden layers.
        num_layers: Number of linear maps.
        dropout: Dropout in the MLP.
        filter_dropout: Dropout between MLP and filter.
        batch_norm: Normalize the hidden layers over all nodes, after their ReLU; there is no dropout on the input then.
        non_negative: Whether weights below zero count as zero.
        mirrored: Filter with :math:`p_k(-\mathbf{P})`, so that :math:`\lambda` and :math:`2 - \lambda` are exchanged.
        self_loops: ``"remove"`` them from the graph, or ``"add"`` one to every node.
        bias: Whether the linear maps have a bias.
        learned: Whether the filter's weights are learned or fixed at their initial values.

    Shapes:
        - input: features ``[num_nodes, in_channels]``, dense or sparse, and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``

    Example:
        >>> import torch
        >>> from unifilter.bases import Legendre
        >>> from unifilter.nn import DecoupledFilter
        >>> model = DecoupledFilter(16, 2, Legendre(), torch.ones(11))
        >>> model(torch.randn(3, 16), torch.tensor([[0, 1], [1, 2]])).shape
        torch.Size([3, 2])
    """

    to_chebyshev: Tensor
    initial_weights: Tensor
    filter_weights: Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        basis: PolynomialBasis,
        weights: Tensor,
        hops: int = 10,
        hidden_channels: int = 64,
        num_layers: int = 2,
        dropout: float = 0.5,
        filter_dropout: float = 0.5,
        batch_norm: bool = False,
        non_negative: bool = False,
        mirrored: bool = False,
        self_loops: SelfLoops = "remove",
        bias: bool = True,
        learned: bool = True,
    ) -> None:
        super().__init__()
        check_choice("self_loops", self_loops, ("remove", "add"))
        self.self_loops = self_loops
        check_count("num_layers", num_layers, "the papers use 2 or 3")
        self.dropout = check_rate("dropout", dropout)
        self.filter_dropout = check_rate("filter_dropout", filter_dropout)
        self.non_negative, self.batch_norm, self.learned = non_negative, batch_norm, learned
        matrix = to_chebyshev(basis, hops)
        if weights.shape != (len(matrix),):
            raise ValueError(
                f"{basis!r} has {len(matrix)} polynomials up to degree {hops}, and weights have shape "
                f"{list(weights.shape)}: pass one weight for each polynomial"
            )
        if mirrored:
            matrix[:, 1::2] *= -1  # T_k(-mu) is T_k(mu) where k is even and -T_k(mu) where it is odd
        self.register_buffer("to_chebyshev", matrix.to(weights.dtype), persistent=False)
        self.register_buffer("initial_weights", weights.detach().clone(), persistent=False)
        if learned:
            self.filter_weights = nn.Parameter(weights.detach().clone())
        else:
            self.register_buffer("filter_weights", weights.detach().clone(), persistent=False)
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        inner = (nn.Linear(a, b, bias) for a, b in pairwise(widths[1:]))
        self.layers = nn.ModuleList([InputLinear(widths[0], widths[1], bias), *inner])
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) if batch_norm else nn.Identity() for width in widths[1:-1])

    def reset_parameters(self) -> None:
        for layer in [*self.layers, *self.norms]:
            if isinstance(layer, (nn.Linear, nn.BatchNorm1d)):
                layer.reset_parameters()
        with torch.no_grad():
            self.filter_weights.copy_(self.initial_weights)

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        graph = self.graph_of(x, edge_index, edge_weight)
        return filter_signal(graph, self._drop(self.transform(x), self.filter_dropout), self.chebyshev_weights())

    def transform(self, x: Features) -> Tensor:
        """Logits of all nodes before the filter."""
        first, *others = self.layers
        hidden: Tensor = first(x, 0.0 if self.batch_norm else self._now(self.dropout))
        for layer, norm in zip(others, self.norms, strict=True):
            hidden = layer(self._drop(norm(torch.relu(hidden)), self.dropout))
        return hidden

    def chebyshev_weights(self) -> Tensor:
        """The filter's weights on Chebyshev polynomials, ``[hops + 1]``."""
        return self._weights() @ self.to_chebyshev

    @property
    def hop_weights(self) -> Tensor | None:
        """The learned weight of each polynomial, ``[m]``; ``None`` for fixed weights."""
        return self._weights() if self.learned else None

    def response(self, lam: Tensor) -> Tensor:
        """The filter as a function of the Laplacian eigenvalue, ``[*lam.shape, 1]``."""
        return filter_response(self.chebyshev_weights(), lam).detach()

    def parameter_groups(
        self, lr: float, weight_decay: float, filter_lr: float, filter_weight_decay: float
    ) -> list[dict[str, Any]]:
        """Parameter groups for a torch optimizer: the MLP, and the filter if it is learned."""
        mlp = [*self.layers.parameters(), *self.norms.parameters()]
        of_mlp = {"params": mlp, "lr": lr, "weight_decay": weight_decay}
        if not self.learned:
            return [of_mlp]
        return [of_mlp, {"params": [self.filter_weights], "lr": filter_lr, "weight_decay": filter_weight_decay}]

    def _weights(self) -> Tensor:
        return torch.relu(self.filter_weights) if self.non_negative else self.filter_weights

    def _drop(self, x: Tensor, rate: float) -> Tensor:
        return dropout(x, self._now(rate))

    def _now(self, rate: float) -> float:
        return rate if self.training else 0.0
