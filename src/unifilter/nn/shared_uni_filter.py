"""UniFilter with one polynomial for all channels."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from unifilter.bases import ChebyshevInterpolation, Tridiagonal
from unifilter.bases.chebyshev_interpolation import interpolation_matrix
from unifilter.factorization import RowsOfBasis, factorize
from unifilter.factorization.shared import check_shareable
from unifilter.graph import Graph
from unifilter.nn.filtered_linear import filtered_linear
from unifilter.nn.graph_module import EdgeIndex, Features
from unifilter.nn.input_linear import as_dense, drop_features
from unifilter.nn.polynomial_filter import filter_signal
from unifilter.nn.uni_filter import Factored, UniFilter

# Number of random combinations of the columns that give the recurrence, if there are many more columns.
_SKETCH = 32
_WIDE = 256


def sketch_for(channels: int) -> int | None:
    """Size of the sketch for a number of columns; ``None`` to use all columns."""
    return _SKETCH if channels > _WIDE else None


class SharedUniFilter(UniFilter):
    r"""UniFilter whose heterophily basis has one recurrence for all channels; see ``factorize(channels="shared")``.

    With :math:`Y` the features, every column divided by its length, the first layer's product is

    .. math::
        \Big(\tau \sum_k w_k \mathbf{P}^k\Big) X W + \Big((1-\tau) \sum_k w_k\, q_k(\mathbf{P})\Big) Y W,

    and filters commute with :math:`W`. So ``model(x, edge_index)`` multiplies by the weights first, keeping sparse
    features sparse, and filters at hidden width; or, if the features are narrower, it filters the features themselves.
    No array has the size ``num_nodes x channels x hops``. ``model(rows)`` reads precomputed rows, as :class:`UniFilter`
    does; both calls give the same logits in evaluation.

    In training the calls differ in their dropout, because ``model(x, edge_index)`` never computes filtered features: it
    drops entries of the features themselves, and keeps an entry if both ``basis_dropout`` and ``dropout`` keep it.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        hops: Number of hops K.
        options: Other arguments of :class:`UniFilter`; ``weights="channel"`` needs separate polynomials and is refused.

    Example:
        >>> import torch
        >>> from unifilter.bases import Uni
        >>> from unifilter.nn import SharedUniFilter
        >>> model = SharedUniFilter(in_channels=16, out_channels=3, hops=4, basis=Uni(tau=0.5, homophily=0.3))
        >>> model(torch.randn(3, 16), torch.tensor([[0, 1], [1, 2]])).shape
        torch.Size([3, 3])
        >>> model.alpha.shape  # the recurrence of all channels
        torch.Size([5, 1])
    """

    def __init__(self, in_channels: int, out_channels: int, hops: int = 10, **options: Any) -> None:
        super().__init__(in_channels, out_channels, hops, **options)
        if self.filter_weights.shape[1] != 1:
            raise ValueError(
                'weights="channel" gives every channel a polynomial of its own, and channels="shared" has one for '
                'all: use weights="hop", or channels="each"'
            )
        if self._basis is not None:
            check_shareable(self._basis)
        self._known: _Recurrence | None = None

    @property
    def tridiagonal(self) -> Tridiagonal | None:
        return None if self.alpha is None else self._recurrence.channels

    @property
    def _recurrence(self) -> _Recurrence:
        """Quantities derived from the recurrence, cached while the recurrence is the same tensor."""
        if self._known is None or not self._known.is_of(self):
            self._known = _Recurrence(self)
        return self._known

    def attach(self, tridiagonal: Tridiagonal) -> None:
        super().attach(tridiagonal)
        # One column represents all columns.
        self.alpha, self.beta = tridiagonal.alpha[:, :1].clone(), tridiagonal.beta[:, :1].clone()

    def forward(
        self, x: RowsOfBasis | Features, edge_index: EdgeIndex | None = None, edge_weight: Tensor | None = None
    ) -> Tensor:
        if isinstance(x, RowsOfBasis) or edge_index is None:
            return super().forward(x)  # type: ignore[arg-type]
        graph = self.graph_of(x, edge_index, edge_weight)
        if isinstance(x, Tensor) and (self.training or self.alpha is None):
            self._look_at(graph, x)
        return self.on_graph(graph, x)

    def on_graph(self, graph: Graph, x: Features) -> Tensor:
        """Logits of all nodes of any graph, with the stored recurrence."""
        if x.shape[1] != self.in_channels:
            raise ValueError(
                f"x has {x.shape[1]} feature columns, but the model was made for {self.in_channels}: "
                "pass the same columns in the same order"
            )
        first = self.mlp.first
        of_basis, of_input = (self.basis_dropout, self.mlp.dropout) if self.training else (0.0, 0.0)
        scales, filters = self._terms()
        if self.in_channels <= first.out_features:
            # The filter of each column combines the terms by the column length.
            x = as_dense(drop_features(x, of_basis))
            return self.mlp(filter_signal(graph, x, filters.to(scales).T @ scales))  # type: ignore[no-any-return]
        x = drop_features(x, 1 - (1 - of_basis) * (1 - of_input))
        return self.mlp.behind_first(filtered_linear(graph, x, first.weight, scales, filters))

    def _look_at(self, graph: Graph, x: Tensor) -> None:
        """Compute the recurrence of the features, unless they are those of the last call."""
        if self._factored is not None and self._factored.is_of(graph, x):
            return
        if x.requires_grad:
            raise ValueError("x requires a gradient, and the basis has none for the features: detach it")
        self._row_basis()
        factorization = factorize(graph, x, self.hops, channels="shared", sketch=sketch_for(self.in_channels))
        self._factored = Factored(graph, x, factorization)
        self.attach(factorization.tridiagonal)

    def _terms(self) -> tuple[Tensor, Tensor]:
        """The diagonal scales of the features ``[terms, channels]``, and the Chebyshev weights of the filter of each
        term ``[terms, hops + 1]``; terms that are zero for all weights are left out.
        """
        known = self._recurrence
        parts = known.parts(self)
        filters = torch.einsum("k,tki->ti", self.weights.double(), parts) @ known.to_chebyshev
        used = slice(None) if self.learned_basis is not None else parts.flatten(1).any(dim=1)
        return known.scales[used].to(self.filter_weights), filters[used]

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_known": None}


class _Recurrence:
    """Quantities derived from the recurrence of a model."""

    def __init__(self, model: SharedUniFilter) -> None:
        alpha, beta, norm, dimension = model.alpha, model.beta, model.norm, model.dimension
        if alpha is None:
            raise ValueError("this model has not seen a factorization yet: call model.attach(fact.tridiagonal) first")
        self._sources = [(one, one._version) for one in (alpha, beta, norm, dimension)]
        count = len(norm)
        self.channels = Tridiagonal(alpha.expand(-1, count), beta.expand(-1, count), norm, dimension).to(
            model.filter_weights.dtype
        )
        exists = norm > 0
        # Scales of the features themselves, and of their columns divided by the column lengths. A zero column has no
        # polynomials.
        self.scales = torch.stack([exists.double(), torch.where(exists, 1 / norm.double(), 0.0)])
        # Signals of two lengths: the coefficients of a basis on them separate the part proportional to the length.
        lengths = torch.arange(3, dtype=torch.float64, device=norm.device)
        reached = dimension.max().expand(3)
        self.lengths = Tridiagonal(alpha.double().expand(-1, 3), beta.double().expand(-1, 3), lengths, reached)
        points = ChebyshevInterpolation().points(model.hops).to(norm.device)
        polynomials = self.lengths.select(slice(1)).orthonormal_polynomials(points)[:, :, 0]
        self.to_chebyshev = polynomials @ interpolation_matrix(model.hops).to(norm.device)
        self._fixed: Tensor | None = None

    def is_of(self, model: SharedUniFilter) -> bool:
        now = (model.alpha, model.beta, model.norm, model.dimension)
        pairs = zip(now, self._sources, strict=True)
        same = all(one is known and known._version == version for one, (known, version) in pairs)
        return same and self.channels.alpha.dtype == model.filter_weights.dtype

    def parts(self, model: SharedUniFilter) -> Tensor:
        """The coefficients of the model's basis, split into the factor of a signal's length and the part independent of
        the length: ``[2, m, hops + 1]``.
        """
        if model.learned_basis is not None:
            without, once, _ = model.learned_basis(self.lengths).unbind(dim=2)
            return torch.stack([once - without, without])
        if self._fixed is None:
            without, once, twice = model._row_basis().coefficients(self.lengths).unbind(dim=2)
            if not torch.allclose(twice - once, once - without, atol=1e-9):
                raise ValueError(
                    f"the coefficients of {model.basis!r} are not linear in the length of a signal, so channels of "
                    'different lengths cannot share a polynomial: use channels="each"'
                )
            self._fixed = torch.stack([once - without, without])
        return self._fixed
