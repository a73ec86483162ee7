"""One recurrence for all channels: a factorization of a few numbers for any number of features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from unifilter._internal.checks import as_feature_matrix, check_count, check_hops
from unifilter._internal.columns import dense_columns
from unifilter._internal.scaling import power_of_two
from unifilter.bases import Basis, Heterophily, Tridiagonal
from unifilter.factorization.factorization import OnTridiagonal, check_lengths, factorize_each
from unifilter.factorization.pooling import inner_products, joined, pooled
from unifilter.graph import Graph
from unifilter.kernels.combine import combine
from unifilter.kernels.sparse_product import sparse_product

# Bounds of the work space: columns that are factored together, and bytes of the vectors of a block, which has whole
# vectors of columns for the compiled factorization.
_COLUMNS = 256
_BLOCK_BYTES = 2**24
_VECTOR_BYTES = 128
# A recurrence with a smaller beta comes from columns in double precision; beside a larger one rounding of single
# precision is a thousand times smaller than the error of a sketch.
_LEAST_BETA = 0.01
# Number of sampled columns whose own tridiagonals represent all columns if the recurrence comes from a sketch.
_SAMPLE = 256


def factorize_shared(
    graph: Graph, x: Any, hops: int = 10, *, sketch: int | None = None, seed: int = 0
) -> SharedFactorization:
    r"""The factorization with one recurrence for all columns; see :func:`unifilter.factorize`.

    Args:
        graph: The graph.
        x: Features ``[num_nodes, channels]``.
        hops: Number of hops K.
        sketch: Number of random combinations of the columns that give the recurrence; ``None`` uses all columns.
        seed: Random seed of the signs.
    """
    hops = check_hops(hops)
    if sketch is not None:
        check_count("sketch", sketch, "leave it out for all columns")
    features = as_feature_matrix(x, graph.num_nodes, sparse="csr")
    graph.require_undirected("the factorization")
    graph = graph.to(features.device)
    norm = _column_lengths(features)
    check_lengths(norm)
    exact = sketch is None or sketch >= int((norm > 0).sum())
    if exact:
        own = _own_tridiagonals(graph, features, hops)
        share = (own.dimension > 0).double()
        shared = pooled(own, share)
    else:
        columns = _sketch(features, norm, sketch or 0, seed)
        for dtype in (columns.dtype, torch.float64):
            own = _own_tridiagonals(graph, columns, hops, dtype)
            share = own.norm**2
            shared = pooled(own, share)
            if bool((shared.beta >= _LEAST_BETA).all()):
                break
    if bool((norm > 0).any()) and not shared.dimension[0]:
        raise ValueError(
            f"the columns cancel in every one of the {sketch} columns of the sketch: pass another seed, or a larger "
            "sketch"
        )
    tridiagonal = Tridiagonal(
        shared.alpha.expand(-1, len(norm)),
        shared.beta.expand(-1, len(norm)),
        norm.double(),
        torch.where(norm > 0, shared.dimension, 0),
    )
    return SharedFactorization(graph, features, tridiagonal, own, share, None if exact else sketch)


@dataclass(frozen=True, repr=False, eq=False)
class SharedFactorization(OnTridiagonal):
    r"""The polynomials that all channels share, with the graph and the features; see :func:`unifilter.factorize`.

    With :math:`Y` the features, every column divided by its length, the vectors :math:`V_i = \pi_i(\mathbf{P}) Y` are
    orthonormal as a whole: :math:`\operatorname{tr}(V_i^\top V_j)` divided by the number of non-zero columns is 1 for
    i = j and 0 otherwise. Single columns deviate. Arrays of the size ``num_nodes x channels x hops`` are allocated only
    by :attr:`vectors` and :meth:`basis`.

    Coefficients, frequencies and values are per channel, as in :class:`Factorization`. The channels differ only in
    their lengths, so a frequency is that of all columns together, scaled to the length of one column.

    Attributes:
        graph: The graph, on the device of the features.
        x: The features, dense or CSR.
        tridiagonal: The recurrence, the same for each channel, with the length of each; float64.
        own: The tridiagonals behind the recurrence: one per column, or one per column of the sketch; float64.
        share: Weight of each of these tridiagonals.
        sketch: Number of columns of the sketch; ``None`` if the recurrence comes from all columns.
    """

    graph: Graph
    x: Tensor
    tridiagonal: Tridiagonal
    own: Tridiagonal
    share: Tensor
    sketch: int | None = None

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(hops={self.hops}, num_nodes={self.num_nodes}, channels={self.channels}, "
            f"dtype={self.x.dtype}, sketch={self.sketch})"
        )

    @property
    def num_nodes(self) -> int:
        return self.x.shape[0]

    @cached_property
    def vectors(self) -> Tensor:
        """The vectors ``[hops + 1, num_nodes, channels]``, computed on first use and then kept."""
        # numpy asks for huge pages and torch does not: training reads rows from all over this memory.
        number = torch.empty(0, dtype=self.x.dtype).numpy().dtype
        vectors = torch.from_numpy(np.empty((self.hops + 1, *self.x.shape), number)).to(self.x.device)
        # In double precision: near the end of a space its polynomials are large beside the signal's frequencies.
        multiply, x = partial(self.graph.propagate, check_finite=False), _by_column(self.x)
        for start in range(0, self.channels, _COLUMNS):
            columns = slice(start, min(start + _COLUMNS, self.channels))
            some = self.tridiagonal.select(columns)
            signals = dense_columns(x, columns.start, columns.stop).double()
            unit = torch.where(some.norm > 0, signals / some.norm, 0.0)
            for vector, block in zip(vectors, some.sequence(multiply, unit), strict=True):
                vector[:, columns] = block
        return vectors

    def basis(self, basis: str | Basis | type[Basis], **parameters: Any) -> Tensor:
        """The vectors of a basis, ``[m, num_nodes, channels]``, as :meth:`Factorization.basis` gives them."""
        return combine(self.vectors, self.coefficients(basis, **parameters))

    def _family(self, basis: str | Basis | type[Basis], parameters: dict[str, Any]) -> Basis:
        family = super()._family(basis, parameters)
        check_shareable(family)
        return family

    def truncate(self, hops: int) -> SharedFactorization:
        """The factorization with fewer hops, up to rounding."""
        if hops == self.hops:
            return self
        return replace(self, tridiagonal=self.tridiagonal.truncate(hops), own=self.own.truncate(hops))

    def diagnostics(self, homophily: float = 0.5) -> SharedDiagnostics:
        """The deviation of single channels from the shared recurrence, and the accuracy of a sketch.

        Computed from the tridiagonals of all channels, or of a sample of 256 if the recurrence comes from a sketch.

        Args:
            homophily: Homophily at which the angles of the heterophily basis are compared with Theorem 4.3.
        """
        shared = self.tridiagonal.select((self.norm > 0).nonzero().flatten()[:1])
        if shared.channels == 0:
            raise ValueError("all feature columns are zero, so there are no angles: pass other features")
        rows = Heterophily(homophily).coefficients(shared)[:, :, 0]
        gram = inner_products(shared, self.own)
        share = self.share / self.share.sum()
        loss = (gram @ share - torch.diag(shared.reached[:, 0].double())).abs()
        wanted = rows * shared.reached[:, 0]
        target = wanted @ wanted.T
        mixed = torch.einsum("ki,ijc,lj->klc", wanted, gram, wanted)
        if self.sketch is None:
            channels, of_channels = self.own, mixed
            error = (mixed @ share - target).abs().max()
        else:
            # The mean over the sketch is exact by construction. The spread among the columns of the sketch estimates
            # the distance between this mean and the mean over all columns.
            apart = (share**2 * (mixed - target[:, :, None]) ** 2).sum(dim=2).sqrt()
            error = apart.max()
            channels = self._sampled()
            of_channels = torch.einsum("ki,ijc,lj->klc", wanted, inner_products(shared, channels), wanted)
        return SharedDiagnostics(
            orthogonality_loss=float(loss.max()),
            angle_error=float(error),
            angles=_angles(of_channels[:, :, channels.dimension > 0]),
            expected_angle=float(torch.rad2deg(torch.arccos(target[0, 1]))) if shared.dimension[0] > 1 else 90.0,
            spread=_spread(shared, channels),
            dimension=self.dimension,
            hops=self.hops,
            sketch=self.sketch,
        )

    def _sampled(self) -> Tridiagonal:
        """The tridiagonals of an evenly spaced sample of non-zero columns."""
        filled = (self.norm > 0).nonzero().flatten()
        chosen = filled[torch.linspace(0, len(filled) - 1, min(_SAMPLE, len(filled))).round().long()]
        x = _by_column(self.x)
        columns = [dense_columns(x, one, one + 1) for one in chosen.tolist()]
        return _own_tridiagonals(self.graph, torch.cat(columns, dim=1), self.hops)


@dataclass(frozen=True, repr=False, eq=False)
class SharedDiagnostics:
    """The deviation of the channels of a shared factorization from their mean.

    Attributes:
        orthogonality_loss: Largest deviation of ``V_i^T V_j`` from orthonormality, over all columns behind the
            recurrence together.
        angle_error: Largest deviation of a mean inner product of the heterophily basis from Theorem 4.3, measured
            on all columns; with a sketch, the estimated standard error.
        angles: Angles between the vectors of the heterophily basis in degrees, for each examined channel,
            ``[hops + 1, hops + 1, channels]``.
        expected_angle: The angle whose cosine is the mean inner product, in degrees.
        spread: Distance of the channels' own tridiagonals from the shared one: root mean square over their entries.
        dimension: Reached dimension, 0 for zero columns, ``[channels]``.
        hops: Number of hops.
        sketch: Number of columns of the sketch; ``None`` without a sketch.
    """

    orthogonality_loss: float
    angle_error: float
    angles: Tensor
    expected_angle: float
    spread: float
    dimension: Tensor
    hops: int
    sketch: int | None

    @property
    def channel_angle(self) -> Tensor:
        """Mean angle of each channel over the pairs of vectors, in degrees."""
        pairs = torch.triu_indices(self.hops + 1, self.hops + 1, offset=1)
        return self.angles[pairs[0], pairs[1]].mean(dim=0)

    @property
    def zero_columns(self) -> Tensor:
        """Indices of channels without any signal."""
        return (self.dimension == 0).nonzero().flatten()

    def __repr__(self) -> str:
        angle = self.channel_angle
        return (
            f"{type(self).__name__}(angle_error={self.angle_error:.1e}, "
            f"channel_angle={angle.mean():.1f} +- {angle.std(correction=0):.1f} of {self.expected_angle:.1f} degrees, "
            f"spread={self.spread:.2f}, dimension={int(self.dimension.max())}, zero_columns={len(self.zero_columns)}, "
            f"channels={len(self.dimension)})"
        )


def check_shareable(basis: Basis) -> None:
    """Refuse a basis that is not one polynomial of P for all channels."""
    if getattr(basis, "formulation", "paper") == "released":
        raise ValueError(
            'the released formulation computes an angle for each channel, so channels="shared" has none: use '
            'formulation="paper", or channels="each"'
        )


def _column_lengths(x: Tensor) -> Tensor:
    """Column lengths in the precision of the features, scaled so that no square over- or underflows."""
    if x.layout == torch.strided:
        blocks = torch.split(x, _COLUMNS, dim=1)
        scales = [power_of_two(block.abs().amax(dim=0)) for block in blocks]
        lengths = [torch.linalg.vector_norm(b / scale, dim=0) * scale for b, scale in zip(blocks, scales, strict=True)]
        return torch.cat(lengths)
    rows = _as_scipy(x)
    values, scale = rows.data.astype(np.float64), np.ones(rows.shape[1])
    if x.dtype == torch.float64:  # squares of single precision neither over- nor underflow in double precision
        largest = np.zeros(rows.shape[1])
        np.maximum.at(largest, rows.indices, np.abs(values))
        scale = power_of_two(torch.from_numpy(largest)).numpy()
        values /= scale[rows.indices]
    squares = np.bincount(rows.indices, values**2, minlength=rows.shape[1])
    return torch.from_numpy(np.sqrt(squares) * scale).to(x)


def _sketch(x: Tensor, norm: Tensor, columns: int, seed: int) -> Tensor:
    """Sums of the columns, scaled to length 1, with random signs: ``[num_nodes, columns]``."""
    signs = torch.randint(0, 2, (len(norm), columns), generator=torch.Generator().manual_seed(seed)) * 2 - 1
    weights = torch.where(norm > 0, 1 / norm, 0.0)[:, None] * signs.to(x)
    if x.layout == torch.strided:
        return x @ weights
    return sparse_product(x.crow_indices(), x.col_indices(), x.values(), weights)


def _as_scipy(x: Tensor) -> sp.csr_array:
    """A CSR tensor as a scipy matrix without duplicate entries."""
    parts = (x.values().cpu().numpy(), x.col_indices().cpu().numpy(), x.crow_indices().cpu().numpy())
    matrix = sp.csr_array(parts, shape=(x.shape[0], x.shape[1]))
    if not matrix.has_canonical_format:
        matrix = matrix.copy()  # protects the caller's arrays
        matrix.sum_duplicates()
    return matrix


def _by_column(x: Tensor) -> Tensor:
    """Sparse features in a layout for reading columns: a temporary copy."""
    return as_feature_matrix(x, x.shape[0])


def _own_tridiagonals(graph: Graph, x: Tensor, hops: int, dtype: torch.dtype = torch.float64) -> Tridiagonal:
    """The tridiagonal of each column in double precision, from steps in ``dtype``.

    The vectors of one block are in memory at a time.
    """
    size, vector = torch.finfo(dtype).bits // 8, _VECTOR_BYTES * 8 // torch.finfo(dtype).bits
    fitting = _BLOCK_BYTES // (size * (hops + 1) * graph.num_nodes) // vector * vector
    width = min(max(fitting, vector), _COLUMNS)
    parts, x = [], _by_column(x)
    for start in range(0, x.shape[1], width):
        block = dense_columns(x, start, min(start + width, x.shape[1])).to(dtype)
        parts.append(factorize_each(graph, block, hops).tridiagonal)
    return joined(parts).to(torch.float64)


def _angles(inner: Tensor) -> Tensor:
    """Angles in degrees from inner products ``[m, m, channels]``; a zero vector is orthogonal to all."""
    length = inner.diagonal().T.sqrt()
    both = length[:, None] * length[None]
    return torch.rad2deg(torch.arccos(torch.where(both > 0, inner / both, 0.0).clamp(-1, 1)))


def _spread(shared: Tridiagonal, channels: Tridiagonal) -> float:
    reached = channels.reached & shared.reached
    alpha = (channels.alpha - shared.alpha)[reached]
    beta = (channels.beta - shared.beta)[reached[1:]]
    return float(torch.cat([alpha, beta]).square().mean().sqrt())
