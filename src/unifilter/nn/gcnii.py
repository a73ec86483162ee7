"""GCNII: a deep graph convolutional network with an initial residual."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from unifilter._internal.checks import check_count, check_fraction, check_rate
from unifilter.kernels.dropout import drop_rows, dropout
from unifilter.kernels.random_bits import draw_seed
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.initialization import uniform
from unifilter.nn.input_linear import InputLinear
from unifilter.nn.operators import propagation
from unifilter.nn.sparse_rows import SparseRows


class GCNII(GraphModule):
    r"""Graph convolutions with an initial residual and weights close to the identity, of "Simple and Deep Graph
    Convolutional Networks" (2020):

    .. math::
        h_l = \mathrm{ReLU}\big(((1 - \alpha) \tilde{\mathbf{P}} h_{l-1} + \alpha h_0)
        ((1 - \beta_l) \mathbf{I} + \beta_l \mathbf{W}_l)\big), \qquad \beta_l = \min(\ln(\theta / l + 1), 1),

    between a linear layer with ReLU, which gives :math:`h_0`, and another that gives the logits. There is dropout
    before every layer. A layer keeps one matrix of hidden width and the sign of its output for the gradient; dropout
    masks are recomputed from their seeds.

    Args:
        in_channels, hidden_channels, out_channels: Widths.
        num_layers: Number of convolutions.
        alpha: Share of :math:`h_0` in every layer.
        theta: The :math:`\lambda` of the paper: the larger, the more the weights of deep layers matter.
        dropout: Dropout on the input of every layer.

    Shapes:
        - input: features ``[num_nodes, in_channels]``, dense or sparse, and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``
    """

    self_loops = "add"
    takes_directed = True
    betas: Tensor

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 64,
        alpha: float = 0.1,
        theta: float = 0.5,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        check_count("num_layers", num_layers, "the paper uses 2 to 64")
        self.alpha, self.dropout = check_fraction("alpha", alpha), check_rate("dropout", dropout)
        if not 0 < theta < math.inf:
            raise ValueError(f"theta must be a finite number above 0, not {theta!r}: the paper uses 0.5 to 1.5")
        # Above 1 the identity would be subtracted.
        betas = [min(math.log(theta / layer + 1), 1.0) for layer in range(1, num_layers + 1)]
        self.register_buffer("betas", torch.tensor(betas)[:, None, None], persistent=False)
        self.input = InputLinear(in_channels, hidden_channels)
        self.weights = nn.Parameter(torch.empty(num_layers, hidden_channels, hidden_channels))
        self.output = nn.Linear(hidden_channels, out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.input.reset_parameters()
        for weight in self.weights.detach():
            uniform(weight)
        self.output.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        matrix = propagation(self.graph_of(x, edge_index, edge_weight), x.dtype)
        rate = self.dropout if self.training else 0.0
        initial = torch.relu(self.input(x, rate))
        weights = torch.lerp(torch.eye(initial.shape[1]).to(self.weights), self.weights, self.betas)
        seeds = [draw_seed() if rate > 0 else 0 for _ in weights]
        hidden = _Layers.apply(  # type: ignore[no-untyped-call]
            initial, weights, matrix, self.alpha, rate, seeds, torch.is_grad_enabled()
        )
        logits: Tensor = self.output(dropout(hidden, rate))
        return logits


class _Layers(torch.autograd.Function):
    """``hidden = ReLU(((1 - alpha) P dropout(hidden) + alpha initial) weight)`` for one weight after the other."""

    @staticmethod
    def forward(
        ctx: Any,
        initial: Tensor,
        weights: Tensor,
        matrix: SparseRows,
        alpha: float,
        rate: float,
        seeds: list[int],
        keep: bool,
    ) -> Tensor:
        # Taken before the temporary matrices, among which they would leave holes: that doubles the memory.
        mixed = [torch.empty_like(initial) for _ in range(len(weights) if keep else 1)]
        positive = [torch.empty_like(initial, dtype=torch.bool) for _ in mixed]
        hidden = initial
        for layer, (weight, seed) in enumerate(zip(weights, seeds, strict=True)):
            place = layer if keep else 0
            torch.lerp(matrix.times(drop_rows(hidden, rate, seed)), initial, alpha, out=mixed[place])
            hidden = (mixed[place] @ weight).relu_()
            torch.gt(hidden, 0, out=positive[place])
        ctx.save_for_backward(weights)
        ctx.rest = mixed, positive, matrix, alpha, rate, seeds
        return hidden

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (weights,) = ctx.saved_tensors
        mixed, positive, matrix, alpha, rate, seeds = ctx.rest
        of_weights, of_initial = torch.empty_like(weights), torch.zeros_like(grad)
        for layer in reversed(range(len(weights))):
            grad = grad * positive[layer]
            torch.mm(mixed[layer].T, grad, out=of_weights[layer])
            grad = grad @ weights[layer].T
            of_initial.add_(grad, alpha=alpha)
            grad = drop_rows(matrix.transposed_times(grad.mul_(1 - alpha)), rate, seeds[layer])
        return of_initial.add_(grad), of_weights, None, None, None, None, None
