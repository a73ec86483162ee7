"""UniFilter and its variants: one learned weight per hop, then an MLP."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn

from unifilter._internal.checks import check_choice, check_count, check_rate
from unifilter.bases import Basis, Heterophily, Monomial, Orthonormal, Tridiagonal
from unifilter.factorization import (
    BasisRows,
    Factorization,
    RowsOfBasis,
    SharedFactorization,
    StoredFactorization,
    StoredRows,
    apply_recurrence,
    factorize,
)
from unifilter.graph import Graph, SelfLoops
from unifilter.kernels.random_bits import draw_seed
from unifilter.nn.graph_module import EdgeIndex, GraphModule
from unifilter.nn.learned_basis import LearnedUniBasis
from unifilter.nn.mlp import MLP

Weights = Literal["hop", "channel"]


class UniFilter(GraphModule):
    r"""UniFilter of "How Universal Polynomial Bases Enhance Spectral Graph Neural Networks" (ICML 2024):

    .. math::
        y = \mathrm{MLP}\Big(\sum_{k=0}^{K} w_k \big(\tau \mathbf{P}^k x + (1-\tau) u_k\big)\Big)

    It can be called in two ways. ``model(rows)`` reads rows of a basis that was computed before, and never sees the
    graph: full batches and mini-batches of nodes are the same to it. ``model(x, edge_index)`` is the way of PyG's
    models and needs ``basis``: in training it factors the graph once and reads the rows from there; in evaluation it
    applies the learned polynomials to any graph.

    Args:
        in_channels: Number of features.
        out_channels: Number of classes.
        hops: Number of hops K.
        hidden_channels: Width of the MLP.
        num_layers: Number of layers of the MLP; the paper uses 2 to 6.
        dropout: Dropout in the MLP.
        basis_dropout: Dropout on the basis elements.
        batch_norm: Batch normalization in the MLP.
        weights: ``"hop"`` learns one weight per basis vector, ``"channel"`` one per vector and channel.
        basis: The basis, such as ``Uni(tau=0.5, homophily=0.3)``; only needed to call the model on a graph.
        learned_basis: A :class:`LearnedUniBasis` to learn tau or theta too. Rows are then rows of the *orthonormal*
            basis, dropout falls on their elements, and :meth:`attach` must be called with their tridiagonal.
        self_loops: ``"remove"`` them from the graph, or ``"add"`` one to every node.

    Shapes:
        - input: features ``[num_nodes, channels]`` and ``edge_index`` ``[2, num_edges]``; or rows
          ``[rows, hops + 1, channels]`` as a tensor (``data.basis`` of :class:`unifilter.transforms.UniBasis`) or
          :class:`unifilter.BasisRows`
        - output: logits ``[num_nodes, out_channels]`` or ``[rows, out_channels]``

    Example:
        >>> import torch
        >>> from unifilter.bases import Uni
        >>> from unifilter.nn import UniFilter
        >>> model = UniFilter(in_channels=16, out_channels=3, hops=4, basis=Uni(tau=0.5, homophily=0.3))
        >>> model(torch.randn(3, 16), torch.tensor([[0, 1], [1, 2]])).shape
        torch.Size([3, 3])
        >>> model(torch.randn(20, 5, 16)).shape  # rows of a basis
        torch.Size([20, 3])
        >>> model.weights
        tensor([0.2000, 0.2000, 0.2000, 0.2000, 0.2000], grad_fn=<SelectBackward0>)
    """

    # The tridiagonal of the features that were factored.
    lazy_buffers = ("alpha", "beta", "norm", "dimension")
    alpha: Tensor | None
    beta: Tensor
    norm: Tensor
    dimension: Tensor

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
        basis: Basis | None = None,
        learned_basis: LearnedUniBasis | None = None,
        self_loops: SelfLoops = "remove",
    ) -> None:
        super().__init__()
        check_choice("weights", weights, ("hop", "channel"))
        check_choice("self_loops", self_loops, ("remove", "add"))
        if basis is not None and learned_basis is not None:
            raise ValueError("a model has a basis or learns one: pass basis or learned_basis")
        self.in_channels, self.hops = in_channels, check_count("hops", hops, "pass hops=10 for the paper's setting")
        self.self_loops = self_loops
        self.basis_dropout = check_rate("basis_dropout", basis_dropout)
        self.num_vectors = hops + 1 if basis is None else _count_vectors(basis, hops)
        self.filter_weights = nn.Parameter(torch.empty(self.num_vectors, in_channels if weights == "channel" else 1))
        self._basis, self.learned_basis = basis, learned_basis
        self._factored: Factored | None = None
        self.mlp = MLP(in_channels, hidden_channels, out_channels, num_layers, dropout, batch_norm)
        self._reset_weights()

    @property
    def weights(self) -> Tensor:
        """The learned weight of each basis vector ``[m]``; ``[m, channels]`` with separate weights per channel."""
        return self.filter_weights[:, 0] if self.filter_weights.shape[1] == 1 else self.filter_weights

    @property
    def hop_weights(self) -> Tensor:
        return self.weights

    @property
    def basis(self) -> Basis | None:
        return self._basis if self.learned_basis is None else self.learned_basis.value()

    @property
    def tridiagonal(self) -> Tridiagonal | None:
        return None if self.alpha is None else Tridiagonal(self.alpha, self.beta, self.norm, self.dimension)

    def attach(self, tridiagonal: Tridiagonal) -> None:
        """Set the polynomials of the features, from the training graph."""
        if (tridiagonal.hops, tridiagonal.channels) != (self.hops, self.in_channels):
            raise ValueError(
                f"the factorization has {tridiagonal.hops} hops and {tridiagonal.channels} channels, the model "
                f"{self.hops} and {self.in_channels}: build both with the same hops and features"
            )
        self.alpha, self.beta = tridiagonal.alpha, tridiagonal.beta
        self.norm, self.dimension = tridiagonal.norm, tridiagonal.dimension

    def reset_parameters(self) -> None:
        if self.learned_basis is not None:
            self.learned_basis.reset_parameters()
        self._reset_weights()

    def _reset_weights(self) -> None:
        nn.init.constant_(self.filter_weights, 1 / self.num_vectors)
        self.mlp.reset_parameters()

    def forward(
        self, x: RowsOfBasis | Tensor, edge_index: EdgeIndex | None = None, edge_weight: Tensor | None = None
    ) -> Tensor:
        if isinstance(x, RowsOfBasis):
            return self._on_rows(x)
        if edge_index is None:
            return self._on_rows(BasisRows.from_tensor(x))
        graph = self.graph_of(x, edge_index, edge_weight)
        known = self._factorization(graph, x, compute=self.training or self.tridiagonal is None)
        if known is not None:
            self.attach(known.tridiagonal)
            return self._on_rows(self.rows_of(known))
        return self.on_node_inputs(self._filtered(graph, x))

    def node_inputs(self, x: Tensor, edge_index: EdgeIndex, edge_weight: Tensor | None = None) -> Tensor:  # type: ignore[override]
        """The features, filtered by the learned polynomials, ``[num_nodes, in_channels]``."""
        return self._filtered(self.graph_of(x, edge_index, edge_weight), x)

    def on_node_inputs(self, rows: Tensor) -> Tensor:
        return self.mlp(rows)  # type: ignore[no-any-return]

    def _filtered(self, graph: Graph, x: Tensor) -> Tensor:
        return apply_recurrence(graph, x, self._attached(), self.lanczos_weights())

    def _on_rows(self, rows: RowsOfBasis) -> Tensor:
        if (rows.num_vectors, rows.channels) != (self.num_vectors, self.in_channels):
            raise ValueError(
                f"this model reads {self.num_vectors} vectors of {self.in_channels} channels, and the rows have "
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

    def rows_of(
        self, factorization: Factorization | SharedFactorization | StoredFactorization
    ) -> BasisRows | StoredRows:
        """The rows that the model reads, of every node."""
        if isinstance(factorization, StoredFactorization):
            return StoredRows.from_factorization(factorization, self._row_basis())
        return BasisRows.from_factorization(factorization, self._row_basis())

    def vector_weights(self) -> Tensor:
        """The weight of each vector, per channel: ``[m, channels]``."""
        weights = self.filter_weights.expand(-1, self.in_channels)
        if self.learned_basis is None:
            return weights
        return torch.einsum("kid,kd->id", self.learned_basis(self._attached()), weights)

    def lanczos_weights(self) -> Tensor:
        """The learned filter on the Lanczos vectors, ``[hops + 1, channels]``."""
        if self._basis is None:
            return self.vector_weights().detach()
        coefficients = self._basis.coefficients(self._attached())
        return (coefficients * self.vector_weights().detach()[:, None]).sum(dim=0)

    def response(self, lam: Tensor) -> Tensor | None:
        """The learned filter of each channel, ``[*lam.shape, channels]``; ``None`` before it has seen a graph."""
        tridiagonal = self.tridiagonal
        if tridiagonal is None:
            return None
        values = torch.einsum("i...c,ic->...c", tridiagonal.orthonormal_polynomials(lam), self.lanczos_weights())
        return torch.where(tridiagonal.norm > 0, values / tridiagonal.norm, 0.0)

    def parameter_groups(
        self, lr: float, weight_decay: float, filter_lr: float, filter_weight_decay: float
    ) -> list[dict[str, Any]]:
        """Parameter groups for a torch optimizer: the MLP, and the parameters of the filter."""
        of_filter = [self.filter_weights, *([] if self.learned_basis is None else self.learned_basis.parameters())]
        return [
            {"params": list(self.mlp.parameters()), "lr": lr, "weight_decay": weight_decay},
            {"params": of_filter, "lr": filter_lr, "weight_decay": filter_weight_decay},
        ]

    def _attached(self) -> Tridiagonal:
        if self.tridiagonal is None:
            raise ValueError("this model has not seen a factorization yet: call model.attach(fact.tridiagonal) first")
        return self.tridiagonal

    def _row_basis(self) -> Basis:
        """The basis whose rows the model reads."""
        if self.learned_basis is not None:
            return Orthonormal()
        if self._basis is None:
            raise ValueError(
                "this model has no basis, so it can only read rows of one: pass UniFilter(..., basis=Uni(tau, "
                "homophily)), or call it on rows"
            )
        return self._basis

    def _factorization(self, graph: Graph, x: Tensor, compute: bool) -> Factorization | None:
        """The factorization of the last call if graph and features are the same; otherwise a new one if requested."""
        known = self._factored
        if known is not None and known.is_of(graph, x):
            return known.factorization  # type: ignore[no-any-return]
        if not compute:
            return None
        if x.requires_grad:
            raise ValueError("x requires a gradient, and the basis has none for the features: detach it")
        self._row_basis()
        factorization = factorize(graph, x, self.hops)
        self._factored = Factored(graph, x, factorization)
        return factorization

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_factored": None}


class Factored:
    """A factorization, and its graph and features."""

    def __init__(self, graph: Graph, x: Tensor, factorization: Any) -> None:
        self._graph, self._x, self._version = graph, weakref.ref(x), x._version
        self.factorization = factorization

    def is_of(self, graph: Graph, x: Tensor) -> bool:
        return self._graph is graph and self._x() is x and self._version == x._version


def _seed_for(rate: float) -> int:
    return draw_seed() if rate > 0 else 0


def _count_vectors(basis: Basis, hops: int) -> int:
    """Number of vectors of a basis, found on an arbitrary tridiagonal."""
    example = Tridiagonal(
        torch.zeros(hops + 1, 1), torch.full((hops, 1), 0.5), torch.ones(1), torch.full((1,), hops + 1)
    )
    return len(basis.coefficients(example))


class HomFilter(UniFilter):
    """UniFilter on the homophily basis; takes the arguments of :class:`UniFilter` except ``basis``."""

    def __init__(self, in_channels: int, out_channels: int, **options: Any) -> None:
        super().__init__(in_channels, out_channels, basis=Monomial(), **options)


class HetFilter(UniFilter):
    """UniFilter on the heterophily basis; takes ``homophily``, and the arguments of :class:`UniFilter` except
    ``basis``.
    """

    def __init__(self, in_channels: int, out_channels: int, *, homophily: float, **options: Any) -> None:
        super().__init__(in_channels, out_channels, basis=Heterophily(homophily), **options)


class OrtFilter(UniFilter):
    """UniFilter on the orthonormal basis; takes the arguments of :class:`UniFilter` except ``basis``."""

    def __init__(self, in_channels: int, out_channels: int, **options: Any) -> None:
        super().__init__(in_channels, out_channels, basis=Orthonormal(), **options)
