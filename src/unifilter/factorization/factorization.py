"""Factorize the graph once: all later stages work on small matrices."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import torch
from torch import Tensor

from unifilter._internal.checks import as_feature_matrix, check_choice, check_count, check_hops
from unifilter._internal.type_aliases import FeatureLike
from unifilter.bases import Basis, Tridiagonal, make_basis
from unifilter.factorization.diagnostics import Diagnostics
from unifilter.graph import Graph
from unifilter.kernels.combine import combine
from unifilter.kernels.lanczos import Parts, lanczos

if TYPE_CHECKING:
    from unifilter.factorization.shared import SharedFactorization
    from unifilter.factorization.stored import StoredFactorization

Channels = Literal["each", "shared"]
Storage = Literal["float32", "float16"]


@overload
def factorize(
    graph: Graph,
    x: FeatureLike,
    hops: int = 10,
    *,
    reorthogonalize: bool | None = None,
    columns_per_block: int | None = None,
    channels: Literal["each"] = "each",
) -> Factorization: ...


@overload
def factorize(
    graph: Graph, x: Any, hops: int = 10, *, channels: Literal["shared"], sketch: int | None = None, seed: int = 0
) -> SharedFactorization: ...


@overload
def factorize(graph: Graph, x: Any, hops: int = 10, *, channels: Channels) -> Factorization | SharedFactorization: ...


@overload
def factorize(
    graph: Graph,
    x: FeatureLike | str | os.PathLike[str],
    hops: int = 10,
    *,
    reorthogonalize: bool | None = None,
    channels: Literal["each"] = "each",
    store: str | os.PathLike[str],
    memory_limit: str | int | None = None,
    nodes: Any = None,
    storage: Storage = "float32",
    on_progress: Callable[[int, int], object] | None = None,
) -> StoredFactorization: ...


def factorize(
    graph: Graph,
    x: FeatureLike | str | os.PathLike[str],
    hops: int = 10,
    *,
    reorthogonalize: bool | None = None,
    columns_per_block: int | None = None,
    channels: Channels = "each",
    sketch: int | None = None,
    seed: int = 0,
    store: str | os.PathLike[str] | None = None,
    memory_limit: str | int | None = None,
    nodes: Any = None,
    storage: Storage = "float32",
    on_progress: Callable[[int, int], object] | None = None,
) -> Factorization | SharedFactorization | StoredFactorization:
    r"""Lanczos factorization of the graph for each feature column.

    For every column, :math:`\mathbf{P}\mathbf{V} = \mathbf{V}\mathbf{T}` with orthonormal :math:`\mathbf{V}` and
    tridiagonal :math:`\mathbf{T}`.
    This is the only step that touches the graph, with one sparse product per hop and one more for the last diagonal
    entry. Every basis, every frequency and every spectral density follows from the result.

    A signal that lives on a small component, or on few frequencies, spans fewer than ``hops + 1`` dimensions. Its later
    vectors are zero, and the reached dimension is recorded. A vector counts as reached while its remainder after
    orthogonalization is more than 6e-8 of its length before, the limit at which double precision can tell it from
    rounding. Single precision cannot tell remainders of a few percent from rounding, so columns with such remainders
    are decided in double precision. The dimension never exceeds the number of nodes in the components of a signal.

    Args:
        graph: The graph.
        x: Features ``[num_nodes, channels]``: a tensor or numpy array, dense or sparse (torch or scipy), float32 or
            float64; whole numbers are converted to torch's default dtype. Sparse features are never made dense.
        hops: Number of hops K; the basis has K + 1 vectors.
        reorthogonalize: ``None`` corrects the loss of orthogonality by rounding, in the channels and at the hops where
            an estimate requires it; ``True`` corrects everywhere; ``False`` nowhere.
        columns_per_block: Number of columns per block. It bounds the work space, two vectors of this number of columns
            per thread, and does not change the result.
        channels: ``"each"`` gives every column its own polynomials, as in the paper. ``"shared"`` takes the same
            steps with the inner product of matrices: one recurrence for all columns, and no array of the size
            ``num_nodes x channels x hops``. The two settings above are for ``"each"``, the two below for ``"shared"``.
        sketch: Number of random combinations of the columns, for instance 32, from which the recurrence is computed
            instead of from all columns. This saves work with many columns. Any recurrence gives a valid basis; a sketch
            reduces the accuracy of the mean angle, which ``diagnostics()`` estimates. A sketch with at least as many
            combinations as columns is skipped.
        seed: Random seed of the sketch.
        store: Folder for the vectors, which are written block by block of columns and need not fit into memory. A later
            call reuses the finished blocks of an interrupted call. With a store, ``x`` may also be the path of a
            ``.npy`` file, which is read block by block.
        memory_limit: With a store, the memory that this process may use, such as ``"4GB"``. Default: the free memory.
        nodes: With a store, a mask or indices of the nodes whose rows are kept, such as the labeled nodes, the only
            rows that training reads. Other rows are recomputed when needed. Default: all nodes.
        storage: With a store, ``"float32"``, or ``"float16"``, which takes half the space and loses digits: see
            ``storage_error`` of the result. Features in double precision are stored in double precision only.
        on_progress: With a store, called after each block with the number of finished blocks and the total.

    Example:
        >>> import torch
        >>> from unifilter import Graph, factorize
        >>> ring = Graph.from_edges(torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]]))
        >>> fact = factorize(ring, torch.eye(5)[:, :2], hops=2)
        >>> fact
        Factorization(hops=2, num_nodes=5, channels=2, dtype=torch.float32, broken_down=0)
        >>> fact.frequencies("homophily")[:, 0]
        tensor([0.5000, 0.5000, 0.4167])
        >>> factorize(ring, torch.eye(5)[:, :2], hops=2, channels="shared")
        SharedFactorization(hops=2, num_nodes=5, channels=2, dtype=torch.float32, sketch=None)
    """
    check_choice("channels", channels, ("each", "shared"))
    if store is None and (memory_limit is not None or nodes is not None or storage != "float32"):
        raise ValueError('memory_limit, nodes and storage are for a store: name its folder, store="folder"')
    if store is not None and channels == "shared":
        raise ValueError('channels="shared" has no vectors to store: leave store out')
    if store is not None:
        from unifilter.factorization.stored import factorize_to_store

        if columns_per_block is not None or sketch is not None:
            raise ValueError("with a store, memory_limit decides how wide blocks are: leave out the other setting")
        return factorize_to_store(
            graph,
            x,
            hops,
            store,
            reorthogonalize=reorthogonalize,
            memory_limit=memory_limit,
            nodes=nodes,
            storage=storage,
            on_progress=on_progress,
        )
    if isinstance(x, (str, os.PathLike)):
        raise ValueError('the path of a .npy file is for a store: name its folder, store="folder", or load the file')
    if channels == "each":
        if sketch is not None:
            raise ValueError('a sketch is for channels="shared": leave it out, or pass channels="shared" too')
        return factorize_each(graph, x, hops, reorthogonalize, columns_per_block)
    for name, value in (("reorthogonalize", reorthogonalize), ("columns_per_block", columns_per_block)):
        if value is not None:
            raise ValueError(f'{name} is for channels="each": leave it out, the shared recurrence needs no choice')
    from unifilter.factorization.shared import factorize_shared  # which factors columns with what is in this file

    return factorize_shared(graph, x, hops, sketch=sketch, seed=seed)


def factorize_each(
    graph: Graph,
    x: FeatureLike,
    hops: int,
    reorthogonalize: bool | None = None,
    columns_per_block: int | None = None,
) -> Factorization:
    """The factorization with separate polynomials for every column; see :func:`factorize`."""
    hops = check_hops(hops)
    if columns_per_block is not None:
        check_count("columns_per_block", columns_per_block, "leave it out for a width that suits the cache")
    features = as_feature_matrix(x, graph.num_nodes)
    graph.require_undirected("the factorization")
    vectors, alpha, beta, norm, dimension = lanczos_on(
        graph.to(features.device), features, hops, reorthogonalize, columns_per_block
    )
    check_lengths(norm)
    return Factorization(vectors, Tridiagonal(alpha, beta, norm, dimension))


def lanczos_on(
    graph: Graph,
    x: Tensor,
    hops: int,
    reorthogonalize: bool | None,
    columns_per_block: int | None = None,
    signals: int | None = None,
) -> Parts:
    """:func:`unifilter.kernels.lanczos.lanczos` on the rows of a graph in the order in which they are stored."""
    parts = lanczos(graph.stored_rows, graph.in_stored_order(x), hops, reorthogonalize, columns_per_block, signals)
    ordered = None
    for vector in parts[0]:
        # One vector at a time, which takes no more work space than the recurrence did.
        ordered = graph.in_node_order(vector, ordered)
        if ordered is vector:
            break
        vector.copy_(ordered)
    return parts


def check_lengths(norm: Tensor, first: int = 0) -> None:
    """Refuse columns whose length overflows; ``first`` is the number of the first column."""
    wrong = ~torch.isfinite(norm)
    if wrong.any():
        raise ValueError(
            f"feature column {first + int(wrong.nonzero()[0])} is longer than the largest {str(norm.dtype)[6:]} number "
            f"({torch.finfo(norm.dtype).max:.1e}): divide it by a number ({int(wrong.sum())} such columns in all)"
        )


class OnTridiagonal:
    """Quantities that follow from the tridiagonals of a factorization, without its vectors."""

    tridiagonal: Tridiagonal

    @property
    def alpha(self) -> Tensor:
        """Diagonal of the tridiagonal, ``[hops + 1, channels]``."""
        return self.tridiagonal.alpha

    @property
    def beta(self) -> Tensor:
        """Off-diagonal of the tridiagonal, ``[hops, channels]``."""
        return self.tridiagonal.beta

    @property
    def norm(self) -> Tensor:
        """Length of each feature column, ``[channels]``."""
        return self.tridiagonal.norm

    @property
    def dimension(self) -> Tensor:
        """Number of independent vectors each channel reached, ``[channels]``."""
        return self.tridiagonal.dimension

    @property
    def hops(self) -> int:
        return self.tridiagonal.hops

    @property
    def channels(self) -> int:
        return self.tridiagonal.channels

    def coefficients(self, basis: str | Basis | type[Basis], **parameters: Any) -> Tensor:
        """The matrix of a basis on the Lanczos vectors, ``[m, hops + 1, channels]``; no n-sized work.

        The number of basis vectors m is ``hops + 1``, except for bases with fewer vectors, such as ``"even"``.
        """
        return self._family(basis, parameters).coefficients(self.tridiagonal)

    def frequencies(self, basis: str | Basis | type[Basis], **parameters: Any) -> Tensor:
        """Frequency (Definition 2.2) of every basis vector, ``[m, channels]`` in [0, 1], from the tridiagonal alone.

        A zero vector has frequency 0.
        """
        return self.tridiagonal.frequencies(self.coefficients(basis, **parameters))

    def evaluate(self, basis: str | Basis | type[Basis], lam: Tensor, **parameters: Any) -> Tensor:
        """Values of the basis polynomials at Laplacian eigenvalues; see :meth:`unifilter.bases.Basis.evaluate`."""
        return self._family(basis, parameters).evaluate(lam, self.tridiagonal)

    def _family(self, basis: str | Basis | type[Basis], parameters: dict[str, Any]) -> Basis:
        return make_basis(basis, **parameters)


@dataclass(frozen=True, repr=False)
class Factorization(OnTridiagonal):
    """Orthonormal vectors and the tridiagonal that connects them; see :func:`factorize`.

    Attributes:
        vectors: Lanczos vectors, ``[hops + 1, num_nodes, channels]``.
        tridiagonal: The small matrices, one per channel.
    """

    vectors: Tensor
    tridiagonal: Tridiagonal

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(hops={self.hops}, num_nodes={self.num_nodes}, channels={self.channels}, "
            f"dtype={self.vectors.dtype}, broken_down={int((self.dimension <= self.hops).sum())})"
        )

    @property
    def num_nodes(self) -> int:
        return self.vectors.shape[1]

    def basis(self, basis: str | Basis | type[Basis], **parameters: Any) -> Tensor:
        """The vectors of a basis, ``[m, num_nodes, channels]``; m is ``hops + 1`` for most, see :meth:`coefficients`.

        Args:
            basis: A name, such as ``"uni"``, ``"homophily"`` or ``"chebyshev"`` (``unifilter.bases.BASES`` has all
                names), or your own :class:`unifilter.bases.Basis`, as a class or an instance.
            parameters: Parameters of the basis, such as ``tau`` and ``homophily``.
        """
        return combine(self.vectors, self.coefficients(basis, **parameters))

    def truncate(self, hops: int) -> Factorization:
        """The factorization with fewer hops, at no cost: a factorization contains all shorter ones.

        Example:
            >>> import torch
            >>> from unifilter import Graph, factorize
            >>> ring = Graph.from_edges(torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]]))
            >>> factorize(ring, torch.eye(5)[:, :2], hops=2).truncate(1)
            Factorization(hops=1, num_nodes=5, channels=2, dtype=torch.float32, broken_down=0)
        """
        if hops == self.hops:
            return self
        tridiagonal = self.tridiagonal.truncate(hops)
        return Factorization(self.vectors[: hops + 1], tridiagonal)

    def diagnostics(self, homophily: float = 0.5) -> Diagnostics:
        """The accuracy of the factorization, channel by channel.

        Args:
            homophily: Homophily at which the angles of the heterophily basis are compared with Theorem 4.3.
        """
        gram = []
        # Gram matrices of a few columns at a time, so that the copy stays small compared with the vectors.
        for start in range(0, self.channels, 64):
            vectors = self.vectors[:, :, start : start + 64].permute(2, 0, 1)
            gram.append((vectors @ vectors.transpose(1, 2)).double())
        return Diagnostics.from_gram(torch.cat(gram), self.tridiagonal, homophily)
