"""UniFilter and its variants: one learned weight per hop, then a perceptron."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn

from unifilter._checks import check_choice, check_count, check_rate
from unifilter.kernels.random_bits import draw_seed
from unifilter.nn.learned_basis import LearnedUniBasis
from unifilter.nn.mlp import MLP
from unifilter.rows import BasisRows

Weights = Literal["hop", "channel"]


class UniFilter(nn.Module):
    r"""UniFilter of "How Universal Polynomial Bases Enhance Spectral Graph Neural Networks" (ICML 2024):

    .. math::
        y = \mathrm{MLP}\Big(\sum_{k=0}^{K} w_k \big(\tau \mathbf{P}^k x + (1-\tau) u_k\big)\Big)

    The module reads basis rows, so it never sees the graph: full batches and mini-batches of nodes are the same to it.
    :class:`HomFilter`, :class:`HetFilter` and :class:`OrtFilter` are the same module on another basis.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        hops: Number of hops K; one weight for each of the K + 1 basis vectors.
        hidden_channels: Width of the perceptron.
        num_layers: Number of its layers; the paper uses 2 to 6.
        dropout: Dropout in the perceptron.
        basis_dropout: Dropout on the basis elements.
        batch_norm: Batch normalisation in the perceptron.
        weights: ``"hop"`` learns one weight per hop, ``"channel"`` one per hop and channel.
        learned_basis: A :class:`LearnedUniBasis` to learn tau or theta too. The module then reads rows of the
            *orthonormal* basis, and dropout falls on their elements.

    Shapes:
        - input: ``[rows, hops + 1, channels]`` as a tensor (``data.basis`` of :class:`unifilter.transforms.UniBasis`),
          or :class:`unifilter.BasisRows`
        - output: logits ``[rows, out_channels]``

    Example:
        >>> import torch
        >>> from unifilter.nn import UniFilter
        >>> model = UniFilter(in_channels=16, out_channels=3, hops=4)
        >>> model(torch.randn(20, 5, 16)).shape
        torch.Size([20, 3])
        >>> model.weights
        tensor([0.2000, 0.2000, 0.2000, 0.2000, 0.2000], grad_fn=<SelectBackward0>)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hops: int = 10,
        hidden_channels: int = 64,
        num_layers: int = 2,
        dropout: float = 0.5,
        basis_dropout: float = 0.0,
        batch_norm: bool = False,
        weights: Weights = "hop",
        learned_basis: LearnedUniBasis | None = None,
    ) -> None:
        super().__init__()
        check_choice("weights", weights, ("hop", "channel"))
        self.in_channels, self.hops = in_channels, check_count("hops", hops, "pass hops=10 for the paper's setting")
        self.basis_dropout = check_rate("basis_dropout", basis_dropout)
        self.filter_weights = nn.Parameter(torch.empty(hops + 1, in_channels if weights == "channel" else 1))
        if learned_basis is not None and (learned_basis.hops, learned_basis.channels) != (hops, in_channels):
            raise ValueError(
                f"the learned basis has {learned_basis.hops} hops and {learned_basis.channels} channels, the model "
                f"{hops} and {in_channels}: build both for the same factorisation"
            )
        self.learned_basis = learned_basis
        self.mlp = MLP(in_channels, hidden_channels, out_channels, num_layers, dropout, batch_norm)
        self.reset_parameters()

    @property
    def weights(self) -> Tensor:
        """The learned weight of each hop ``[hops + 1]``; ``[hops + 1, channels]`` where every channel has its own."""
        return self.filter_weights[:, 0] if self.filter_weights.shape[1] == 1 else self.filter_weights

    def reset_parameters(self) -> None:
        nn.init.constant_(self.filter_weights, 1 / (self.hops + 1))
        self.mlp.reset_parameters()

    def forward(self, rows: BasisRows | Tensor) -> Tensor:
        rows = BasisRows.from_tensor(rows) if isinstance(rows, Tensor) else rows
        if (rows.num_vectors, rows.channels) != (self.hops + 1, self.in_channels):
            raise ValueError(
                f"this model reads {self.hops + 1} vectors of {self.in_channels} channels, and the rows have "
                f"{rows.num_vectors} of {rows.channels}: build both with the same hops and features"
            )
        if self.learned_basis is not None and rows.coefficients is not None:
            raise ValueError(
                "a model that learns its basis reads rows of the orthonormal basis, and these are of another: build "
                'them with BasisRows.from_factorization(fact, "orthonormal")'
            )
        of_basis, of_input = self.basis_dropout if self.training else 0.0, self.mlp.rate
        filtered = partial(
            rows.combine,
            self.vector_weights(),
            of_basis,
            _seed_for(of_basis),
            result_dropout=of_input,
            result_seed=_seed_for(of_input),
        )
        return self.mlp.forward_on(filtered)

    def vector_weights(self) -> Tensor:
        """The weight of each vector that is read, per channel: ``[hops + 1, channels]``."""
        weights = self.filter_weights.expand(-1, self.in_channels)
        if self.learned_basis is None:
            return weights
        return torch.einsum("kid,kd->id", self.learned_basis(), weights)

    def parameter_groups(
        self, lr: float, weight_decay: float, filter_lr: float, filter_weight_decay: float
    ) -> list[dict[str, Any]]:
        """Groups for a torch optimiser: the perceptron, and what the filter learns."""
        perceptron = list(self.mlp.parameters())
        of_filter = [self.filter_weights, *([] if self.learned_basis is None else self.learned_basis.parameters())]
        return [
            {"params": perceptron, "lr": lr, "weight_decay": weight_decay},
            {"params": of_filter, "lr": filter_lr, "weight_decay": filter_weight_decay},
        ]


def _seed_for(rate: float) -> int:
    return draw_seed() if rate > 0 else 0


class HomFilter(UniFilter):
    """UniFilter reading rows of the homophily basis, ``fact.basis("homophily")``."""


class HetFilter(UniFilter):
    """UniFilter reading rows of the heterophily basis, ``fact.basis("heterophily", homophily=...)``."""


class OrtFilter(UniFilter):
    """UniFilter reading rows of the orthonormal basis, ``fact.basis("orthonormal")``."""
