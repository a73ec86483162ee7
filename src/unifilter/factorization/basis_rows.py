"""Rows of a basis, the input of a model, computed from the Lanczos vectors on access."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from unifilter._internal.checks import check_rate
from unifilter.bases import Orthonormal, make_basis
from unifilter.factorization.factorization import Factorization
from unifilter.factorization.shared import SharedFactorization
from unifilter.kernels.combine_rows import combine_rows


class RowsOfBasis(ABC):
    """Basis vectors of some nodes, the input of a model. The Lanczos vectors are in memory or on disk.

    Attributes:
        coefficients: The basis on the Lanczos vectors, ``[num_vectors, hops + 1, channels]``; ``None`` if the
            Lanczos vectors are the basis.
        nodes: Nodes of the rows, int64.
    """

    coefficients: Tensor | None
    nodes: Tensor

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rows={len(self)}, vectors={self.num_vectors}, channels={self.channels})"

    @property
    @abstractmethod
    def num_vectors(self) -> int: ...

    @property
    @abstractmethod
    def channels(self) -> int: ...

    @abstractmethod
    def __getitem__(self, index: Any) -> RowsOfBasis: ...

    @abstractmethod
    def combine(self, weights: Tensor, dropout: float = 0.0, seed: int = 0, **options: Any) -> Tensor:
        """See :meth:`BasisRows.combine`."""

    def on_lanczos_vectors(self, weights: Tensor) -> Tensor:
        """The same weighted sum on the Lanczos vectors: ``[hops + 1, channels]`` from ``[num_vectors, channels]``."""
        return weights if self.coefficients is None else (self.coefficients * weights[:, None]).sum(dim=0)


@dataclass(frozen=True, repr=False, eq=False)
class BasisRows(RowsOfBasis):
    """The basis vectors of some nodes, ``[num_rows, num_vectors, channels]``, without storing them.

    Models read rows through :meth:`combine`, which computes each basis element in a register from the Lanczos
    vectors. Indexing selects rows, ``rows[train]``, without a copy.

    Attributes:
        vectors: Lanczos vectors ``[hops + 1, num_nodes, channels]``.
        coefficients: The basis on the Lanczos vectors, ``[num_vectors, hops + 1, channels]``; ``None`` if the Lanczos
            vectors are the basis.
        nodes: Nodes of the rows, int64.
    """

    vectors: Tensor
    coefficients: Tensor | None
    nodes: Tensor

    @classmethod
    def from_factorization(cls, fact: Factorization | SharedFactorization, basis: Any, **parameters: Any) -> BasisRows:
        """All rows of a basis, given as in :meth:`Factorization.basis`."""
        family, vectors = make_basis(basis, **parameters), fact.vectors
        coefficients = None if isinstance(family, Orthonormal) else fact.coefficients(family).to(vectors)
        return cls(vectors, coefficients, torch.arange(fact.num_nodes, device=vectors.device))

    @classmethod
    def from_tensor(cls, rows: Tensor) -> BasisRows:
        """Rows from a tensor ``[num_rows, num_vectors, channels]``, such as ``data.basis``."""
        if rows.ndim != 3:
            raise ValueError(f"basis rows have shape [rows, hops + 1, channels], not {list(rows.shape)}")
        if not rows.is_floating_point():
            raise ValueError(f"basis rows must be floating-point numbers, not {rows.dtype}: convert them with .float()")
        return cls(rows.transpose(0, 1), None, torch.arange(len(rows), device=rows.device))

    def __getitem__(self, index: Any) -> BasisRows:
        index = index if isinstance(index, slice) else torch.as_tensor(index, device=self.nodes.device)
        return replace(self, nodes=self.nodes[index].reshape(-1))

    @property
    def num_vectors(self) -> int:
        return len(self.vectors) if self.coefficients is None else len(self.coefficients)

    @property
    def channels(self) -> int:
        return self.vectors.shape[2]

    def combine(  # type: ignore[override]
        self,
        weights: Tensor,
        dropout: float = 0.0,
        seed: int = 0,
        *,
        result_dropout: float = 0.0,
        result_seed: int = 0,
        linear: Tensor | None = None,
    ) -> Tensor:
        """``dropout(sum_k weights[k] * dropout(basis[k]))``, ``[num_rows, channels]``; differentiable in the weights.

        Args:
            weights: One weight per vector ``[num_vectors]``, or one per vector and channel ``[num_vectors, channels]``.
            dropout: Share of basis elements that are dropped.
            seed: The same seed drops the same elements.
            result_dropout: Share of the sums that are dropped, for a layer that starts with dropout. Here this dropout
                is free.
            result_seed: The same seed drops the same sums.
            linear: Weight ``[out, channels]`` of a linear layer on the sums. The result is then ``[num_rows, out]``,
                and training needs the memory of the sums once, not twice.
        """
        shape = (self.num_vectors, self.channels)
        if tuple(weights.shape) not in (shape, shape[:1]):
            raise ValueError(
                f"weights must have shape [{shape[0]}] or [{shape[0]}, {shape[1]}], not {list(weights.shape)}: "
                "pass one per basis vector, or one per basis vector and channel"
            )
        if linear is not None and (linear.ndim != 2 or linear.shape[1] != self.channels):
            raise ValueError(
                f"linear must have shape [out, {self.channels}], not {list(linear.shape)}: pass the weight of a layer "
                f"that reads {self.channels} channels"
            )
        check_rate("dropout", dropout)
        check_rate("result_dropout", result_dropout)
        if weights.ndim == 1:
            weights = weights[:, None].expand(-1, self.channels)
        return combine_rows(
            self.vectors, self.coefficients, weights, self.nodes, dropout, seed, result_dropout, result_seed, linear
        )

    def dense(self) -> Tensor:
        """The rows as a tensor, ``[num_rows, num_vectors, channels]``."""
        rows = self.vectors[:, self.nodes]
        if self.coefficients is None:
            return rows.transpose(0, 1).contiguous()
        return torch.einsum("kid,ind->nkd", self.coefficients.to(rows), rows).contiguous()
