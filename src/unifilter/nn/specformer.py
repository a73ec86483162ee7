"""Specformer: a transformer that maps the eigenvalues of the graph to new eigenvalues."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from unifilter._internal.checks import check_count, check_rate
from unifilter.factorization import eigenpairs
from unifilter.kernels.dropout import dropout
from unifilter.nn.attention import attention
from unifilter.nn.graph_module import EdgeIndex, Features, GraphModule
from unifilter.nn.input_linear import InputLinear
from unifilter.nn.norms import Norm, make_norm

# Eigenvalues lie in [0, 2]: scaled by this factor, the sines separate close eigenvalues.
_STRETCH = 100.0
# Standard deviation of the initial weights.
_SPREAD = 0.01


class Specformer(GraphModule):
    r"""Specformer of "Specformer: Spectral Graph Neural Networks Meet Transformers" (2023).

    Self-attention over all eigenvalues :math:`\lambda` of the Laplacian gives ``heads`` new eigenvalues
    :math:`\lambda^{(j)}` for each, without bound. Every layer mixes, channel by channel, its input with the filtered
    input,

    .. math:: y = w_0 \circ h + \sum_j w_j \circ \mathbf{U}\,\mathrm{diag}(\lambda^{(j)})\,\mathbf{U}^\top h.

    With ``norm="none"`` two linear layers come first and the filters act on one channel per class; else one linear
    layer comes first, every filter is followed by the normalization and ReLU, and a linear layer ends it.

    Args:
        in_channels: Number of features.
        hidden_channels: Width of the hidden layer and of the transformer; even, and a multiple of ``heads``.
        out_channels: Number of classes.
        num_layers: Number of filters.
        heads: Number of new eigenvalues for each, and of the attention's heads.
        attention_dropout, dropout, filter_dropout: Dropout in the transformer, on the features, and on the terms of a
            filter.
        norm: ``"none"``, ``"batch"`` or ``"layer"``.
        ends: Numbers of the smallest and largest eigenvalues; see :func:`unifilter.factorization.eigenpairs`.

    Shapes:
        - input: features ``[num_nodes, in_channels]``, dense or sparse, and ``edge_index`` ``[2, num_edges]``
        - output: logits ``[num_nodes, out_channels]``
    """

    # Points of the known response: the eigenvalues of the training graph.
    lazy_buffers = ("eigenvalues",)
    eigenvalues: Tensor | None

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        heads: int = 2,
        attention_dropout: float = 0.2,
        dropout: float = 0.5,
        filter_dropout: float = 0.5,
        norm: Norm = "none",
        ends: tuple[int, int] | None = None,
    ) -> None:
        super().__init__()
        self.ends = ends
        check_count("num_layers", num_layers, "the paper uses 1 or 2")
        check_count("heads", heads, "the paper uses 1 to 4")
        if hidden_channels % 2 or hidden_channels % heads:
            raise ValueError(
                f"hidden_channels must be even and a multiple of heads, and {hidden_channels} with heads={heads} is "
                "not: the paper uses 32 with 1, 2 or 4"
            )
        self.norm = norm
        self.dropout = check_rate("dropout", dropout)
        self.filter_dropout = check_rate("filter_dropout", filter_dropout)
        self.spectrum = EigenvalueTransformer(hidden_channels, heads, attention_dropout)
        width = out_channels if norm == "none" else hidden_channels
        self.input = InputLinear(in_channels, hidden_channels)
        self.output = nn.Linear(hidden_channels, out_channels)
        self.filter_weights = nn.ParameterList(torch.ones(heads + 1, width) for _ in range(num_layers))
        self.norms = nn.ModuleList(make_norm(norm, width) for _ in range(num_layers))
        self._start_small()

    def reset_parameters(self) -> None:
        for module in self.modules():
            if isinstance(module, (nn.LayerNorm, nn.BatchNorm1d)):
                module.reset_parameters()
            elif isinstance(module, nn.MultiheadAttention):
                module._reset_parameters()
        self._start_small()

    def _start_small(self) -> None:
        """Linear layers normal with a small spread and no bias; filters that add everything up, or as small."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=_SPREAD)
                nn.init.zeros_(module.bias)
        for weights in self.filter_weights:
            if self.norm == "none":
                nn.init.ones_(weights)
            else:
                nn.init.normal_(weights, std=_SPREAD)

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:
        self.graph_of(x, edge_index, edge_weight)
        pairs = self.derived("eigenpairs", lambda graph: eigenpairs(graph, self.ends))
        values, vectors = pairs.values.to(x.device, x.dtype), pairs.vectors.to(x.device, x.dtype)
        if self.eigenvalues is None:
            self.eigenvalues = values
        return self.forward_spectrum(x, values, vectors)

    def forward_spectrum(self, x: Features, values: Tensor, vectors: Tensor) -> Tensor:
        """Logits of all nodes, from their features, eigenvalues ``[k]`` and eigenvectors ``[num_nodes, k]``."""
        new_values = self.spectrum(values)
        hidden = self.input(x, self.dropout if self.training else 0.0)
        if self.norm == "none":
            hidden = self._drop(self.output(torch.relu(hidden)))
        for weights, norm in zip(self.filter_weights, self.norms, strict=True):
            hidden = self._filter(hidden, weights, new_values, vectors)
            if self.norm != "none":
                hidden = torch.relu(norm(hidden))
        logits: Tensor = hidden if self.norm == "none" else self.output(self._drop(hidden))
        return logits

    @torch.no_grad()
    def response(self, lam: Tensor) -> Tensor | None:
        """The filters at each eigenvalue, ``[*lam.shape, channels]``, linear between the eigenvalues of the graph.

        ``None`` if a ReLU separates two filters, or before the first graph.
        """
        if self.eigenvalues is None or (self.norm != "none" and len(self.filter_weights) > 1):
            return None
        training = self.training
        self.eval()
        values = self.eigenvalues
        new_values = self.spectrum(values)
        self.train(training)
        result = torch.ones_like(values)[:, None]
        for weights in self.filter_weights:
            result = result * (weights[0] + new_values @ weights[1:])
        return _interpolate(lam.to(values), values, result)

    def _filter(self, hidden: Tensor, weights: Tensor, new_values: Tensor, vectors: Tensor) -> Tensor:
        spectral = _ToSpectrum.apply(hidden, vectors)  # type: ignore[no-untyped-call]
        # All heads in one product with the eigenvectors.
        scaled = (new_values.T[:, None] * spectral).flatten(0, 1)
        filtered = _FromSpectrum.apply(scaled, vectors)  # type: ignore[no-untyped-call]
        filtered = filtered.view(len(hidden), -1, hidden.shape[1])
        terms = torch.cat([hidden[:, None], filtered], dim=1)
        return (dropout(terms, self.filter_dropout if self.training else 0.0) * weights).sum(dim=1)

    def _drop(self, x: Tensor) -> Tensor:
        return dropout(x, self.dropout if self.training else 0.0)


class _ToSpectrum(torch.autograd.Function):
    """``x^T vectors``, ``[channels, k]``. The gradient is a product of the other kind: torch's own would read the
    eigenvectors in the wrong order, which takes ten times as long.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, vectors: Tensor) -> Tensor:
        ctx.vectors = vectors
        return x.T.contiguous() @ vectors

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _FromSpectrum.apply(grad, ctx.vectors), None  # type: ignore[no-untyped-call]


class _FromSpectrum(torch.autograd.Function):
    """``vectors spectral^T``, ``[n, channels]``."""

    @staticmethod
    def forward(ctx: Any, spectral: Tensor, vectors: Tensor) -> Tensor:
        ctx.vectors = vectors
        return vectors @ spectral.contiguous().T

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _ToSpectrum.apply(grad, ctx.vectors), None  # type: ignore[no-untyped-call]


class EigenvalueTransformer(nn.Module):
    """One block of self-attention over eigenvalues ``[k]``, each encoded by sines; new eigenvalues ``[k, heads]``."""

    wavelengths: Tensor

    def __init__(self, channels: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.dropout = check_rate("attention_dropout", dropout)
        exponents = torch.arange(0, channels, 2) * (-math.log(10_000) / channels)
        self.register_buffer("wavelengths", _STRETCH * exponents.exp(), persistent=False)
        self.encoder = nn.Linear(channels + 1, channels)
        self.attention_norm = nn.LayerNorm(channels)
        self.attention = nn.MultiheadAttention(channels, heads, dropout)
        self.feedforward_norm = nn.LayerNorm(channels)
        self.feedforward = nn.Sequential(nn.Linear(channels, channels), nn.GELU(), nn.Linear(channels, channels))
        self.decoder = nn.Linear(channels, heads)

    def forward(self, values: Tensor) -> Tensor:
        waves = values[:, None] * self.wavelengths
        code = self.encoder(torch.cat([values[:, None], waves.sin(), waves.cos()], dim=1))
        rate = self.dropout if self.training else 0.0
        code = code + dropout(self._attend(self.attention_norm(code), rate), rate)
        code = code + dropout(self.feedforward(self.feedforward_norm(code)), rate)
        new_values: Tensor = self.decoder(code)
        return new_values

    def _attend(self, code: Tensor, rate: float) -> Tensor:
        """The result of ``self.attention(code, code, code)``, without storing a weight for every pair."""
        projected = linear(code, self.attention.in_proj_weight, self.attention.in_proj_bias)
        # [k, 3 * channels] as queries, keys and values of each head
        parts = projected.view(len(code), 3, self.attention.num_heads, -1).permute(1, 2, 0, 3).contiguous()
        attended = attention(parts[0], parts[1], parts[2], p=rate).transpose(0, 1).reshape(code.shape)
        result: Tensor = self.attention.out_proj(attended)
        return result


def _interpolate(at: Tensor, points: Tensor, values: Tensor) -> Tensor:
    """Linear interpolation of ``values [k, channels]`` at ascending ``points [k]``; constant beyond both ends."""
    if len(points) == 1:
        return values[0].expand(*at.shape, -1)
    right = torch.searchsorted(points, at.contiguous()).clamp(1, len(points) - 1)
    low, high = points[right - 1], points[right]
    share = ((at - low) / torch.where(high > low, high - low, 1.0)).clamp(0, 1)[..., None]
    return (1 - share) * values[right - 1] + share * values[right]
