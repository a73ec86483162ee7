"""Rows of a basis whose Lanczos vectors are on the disk: read when a model asks for them."""

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
    """What all selections of the rows of a store have in common."""

    cache: RowCache | None = None


@dataclass(frozen=True, repr=False, eq=False)
class StoredRows(RowsOfBasis):
    """Rows as :class:`unifilter.BasisRows` has them. Indexing picks rows; they are read when they are combined.

    Attributes:
        fact: The store.
        coefficients: The basis on its vectors, ``[num_vectors, hops + 1, channels]``; ``None`` where they are it.
        nodes: Which nodes the rows are of, int64.
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
        # A selection of all rows keeps the very tensor: a batch that was announced is known by it.
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
        """Read rows from here where it has them."""
        self._shared.cache = cache

    @property
    def kept_in_memory(self) -> bool:
        """Whether rows were gathered in memory."""
        return self._shared.cache is not None and self._shared.cache.in_memory

    def announce(self, batches: Sequence[Tensor]) -> None:
        """Say which nodes will be picked next, batch by batch, so that they are read ahead."""
        if self._shared.cache is not None:
            self._shared.cache.announce(batches)

    def in_memory(self) -> BasisRows:
        """The same rows, read."""
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
        """The rows written out, ``[num_rows, num_vectors, channels]``."""
        return self.in_memory().dense()
