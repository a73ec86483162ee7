"""Rows of a basis with its Lanczos vectors on disk, read on access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from unifilter.bases import Orthonormal, make_basis
from unifilter.factorization.basis_rows import BasisRows, RowsOfBasis
from unifilter.factorization.stored.row_cache import RowCache
from unifilter.factorization.stored.stored_factorization import StoredFactorization


@dataclass
class _Shared:
    """State shared by all selections of rows of a store."""

    cache: RowCache | None = None


@dataclass(frozen=True, repr=False, eq=False)
class StoredRows(RowsOfBasis):
    """Rows of a basis as in :class:`unifilter.BasisRows`. Indexing selects rows, and :meth:`combine` reads them.

    Attributes:
        fact: The store.
        coefficients: The basis on the Lanczos vectors, ``[num_vectors, hops + 1, channels]``; ``None`` if the Lanczos
            vectors are the basis.
        nodes: Nodes of the rows, int64.
    """

    fact: StoredFactorization
    coefficients: Tensor | None
    nodes: Tensor
    _shared: _Shared = field(default_factory=_Shared)

    @classmethod
    def from_factorization(cls, fact: StoredFactorization, basis: Any, **parameters: Any) -> StoredRows:
        """All rows of a basis, given as in :meth:`unifilter.Factorization.basis`."""
        family = make_basis(basis, **parameters)
        coefficients = None if isinstance(family, Orthonormal) else family.coefficients(fact.tridiagonal)
        return cls(fact, coefficients, torch.arange(fact.num_nodes))

    def __getitem__(self, index: Any) -> StoredRows:
        # A selection of all rows keeps the same tensor object, because announced batches are identified by it.
        index = index if isinstance(index, slice) else torch.as_tensor(index)
        whole = isinstance(index, Tensor) and index.dtype == torch.long and len(self.nodes) == self.fact.num_nodes
        return replace(self, nodes=index if whole else self.nodes[index].reshape(-1))

    @property
    def num_vectors(self) -> int:
        return self.fact.hops + 1 if self.coefficients is None else len(self.coefficients)

    @property
    def channels(self) -> int:
        return self.fact.channels

    def keep(self, cache: RowCache) -> None:
        """Read rows from this cache if it has them."""
        self._shared.cache = cache

    @property
    def kept_in_memory(self) -> bool:
        """Whether the cache holds rows in memory."""
        return self._shared.cache is not None and self._shared.cache.in_memory

    def announce(self, batches: Sequence[Tensor]) -> None:
        """Announce the nodes of the next batches, so that they are read ahead."""
        if self._shared.cache is not None:
            self._shared.cache.announce(batches)

    def in_memory(self) -> BasisRows:
        """The same rows, read into memory."""
        cache = self._shared.cache
        if cache is None or not cache.has(self.nodes):
            vectors = self.fact.vectors_of(self.nodes)
        elif cache.all_rows is not None:
            return BasisRows(cache.all_rows.transpose(0, 1), self.coefficients, cache.places(self.nodes))
        else:
            vectors = cache.read(self.nodes).transpose(0, 1)
        return BasisRows(vectors, self.coefficients, torch.arange(len(self.nodes)))

    def combine(self, weights: Tensor, dropout: float = 0.0, seed: int = 0, **options: Any) -> Tensor:
        """See :meth:`unifilter.BasisRows.combine`."""
        return self.in_memory().combine(weights, dropout, seed, **options)

    def dense(self) -> Tensor:
        """The rows as a tensor, ``[num_rows, num_vectors, channels]``."""
        return self.in_memory().dense()
