"""UniBasis as a scikit-learn transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from typing_extensions import Self

from unifilter._internal.checks import as_feature_matrix, check_fraction, check_hops
from unifilter._internal.type_aliases import FeatureLike, Labels, NodeIndex
from unifilter.bases import Basis, make_basis
from unifilter.data import Classes
from unifilter.factorization import BasisRows, Factorization, factorize
from unifilter.graph import Graph, as_graph, estimate_homophily


class UniBasisTransformer(TransformerMixin, BaseEstimator):
    r"""The vectors of a basis as features for scikit-learn pipelines.

    Every node gets ``(hops + 1) * features`` columns: all features of the first basis vector, then those of the second,
    and so on. There are two ways to use it:

    * without ``x``: ``transform(X)`` takes the features of all nodes, one row per node of the graph;
    * with ``x`` passed to the constructor: ``transform(nodes)`` takes node indices, so that cross-validation can split
      them. The homophily is then estimated from the labels of the training nodes only.

    Args:
        graph: Any graph accepted by :func:`unifilter.graph.as_graph`.
        x: Features of all nodes; see above.
        hops: Number of hops K.
        basis: ``"uni"``, the name of another basis, or a :class:`unifilter.bases.Basis`.
        tau: Share of the homophily basis in [0, 1]; ``None`` uses the homophily.
        homophily: The graph's homophily; ``None`` estimates it from the labels ``y`` passed to ``fit``.

    Attributes:
        homophily_: The homophily; ``None`` if the basis does not depend on it.
        basis_: The basis.
        n_features_in_: Number of columns of the input of ``fit``.

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.pipeline import make_pipeline
        >>> from unifilter.datasets import load_dataset
        >>> from unifilter.transforms import UniBasisTransformer
        >>> karate = load_dataset("karate")
        >>> x, y = karate.features.to_dense().numpy(), karate.labels.numpy()
        >>> UniBasisTransformer(karate.graph, hops=4, homophily=0.8).fit_transform(x).shape
        (34, 170)
        >>> pipe = make_pipeline(UniBasisTransformer(karate.graph, x, hops=4), LogisticRegression())
        >>> pipe.fit([0, 1, 32, 33], y[[0, 1, 32, 33]]).predict([2, 31])  # node indices
        array([0, 1])
    """

    def __init__(
        self,
        graph: Any,
        x: FeatureLike | None = None,
        *,
        hops: int = 10,
        basis: str | Basis | type[Basis] = "uni",
        tau: float | None = None,
        homophily: float | None = None,
    ) -> None:
        self.graph = graph
        self.x = x
        self.hops = hops
        self.basis = basis
        self.tau = tau
        self.homophily = homophily

    def fit(self, X: NodeIndex, y: Labels | None = None) -> Self:
        """Determine the basis. Its homophily is the parameter, or estimated from the labels ``y``."""
        graph = as_graph(self.graph)
        self.homophily_ = self._find_homophily(graph, X, y)
        self.basis_ = self._make_basis()
        self.n_features_in_ = np.shape(X)[1] if np.ndim(X) == 2 else 1
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The basis vectors of some rows, ``[rows, (hops + 1) * features]``."""
        check_is_fitted(self)
        graph = as_graph(self.graph)
        features = X if self.x is None else self.x
        rows = BasisRows.from_factorization(self._factorize(graph, features), self.basis_)
        if self.x is not None:
            rows = rows[torch.from_numpy(_nodes(X, graph.num_nodes))]
        return rows.dense().flatten(1).numpy()

    def __sklearn_clone__(self) -> Self:
        # scikit-learn would copy the graph and its features; clones share them instead.
        return type(self)(**self.get_params(deep=False))

    def _factorize(self, graph: Graph, features: Any) -> Factorization:
        hops = check_hops(self.hops)
        if self.x is None:
            return factorize(graph, features, hops)
        # Clones share the graph, and therefore the factorization of x.
        known = graph.cache.get("transformer")
        matrix = as_feature_matrix(features, graph.num_nodes)
        if known is None or known[0].hops < hops or not _same(known[1], matrix):
            known = factorize(graph, matrix, hops), matrix
            graph.cache["transformer"] = known
        fact: Factorization = known[0].truncate(hops)
        return fact

    def _make_basis(self) -> Basis:
        if self.basis == "uni":
            tau = self.homophily_ if self.tau is None else self.tau
            return make_basis("uni", tau=tau, homophily=self.homophily_)
        if self.basis == "heterophily":
            return make_basis("heterophily", homophily=self.homophily_)
        return make_basis(self.basis)

    def _find_homophily(self, graph: Graph, X: Any, y: Any) -> float | None:
        if self.basis not in ("uni", "heterophily"):
            return None
        if self.homophily is not None:
            return check_fraction("homophily", self.homophily)
        if y is None:
            raise ValueError(
                "the homophily is unknown: pass homophily=0.5 or its value, or labels to estimate it from, "
                "fit_transform(X, y)"
            )
        nodes = np.arange(graph.num_nodes) if self.x is None else _nodes(X, graph.num_nodes)
        known = np.full(graph.num_nodes, -1)
        known[nodes] = Classes.encode(y, len(nodes))[1]
        return float(estimate_homophily(graph, known, known >= 0))


def _nodes(X: Any, num_nodes: int) -> np.ndarray:
    nodes = np.asarray(X)
    nodes = nodes[:, 0] if nodes.ndim == 2 and nodes.shape[1] == 1 else nodes
    if nodes.ndim != 1 or not np.issubdtype(nodes.dtype, np.integer):
        raise ValueError(
            f"x was passed to the constructor, so X must be node indices, not {nodes.dtype} of shape "
            f"{list(nodes.shape)}"
        )
    wrong = (nodes < 0) | (nodes >= num_nodes)
    if wrong.any():
        raise ValueError(f"there is no node {nodes[wrong.argmax()]}: nodes are 0 to {num_nodes - 1}")
    return nodes.astype(np.int64)


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.layout != other.layout or one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.layout == torch.strided:
        return torch.equal(one, other)
    parts = ("ccol_indices", "row_indices", "values")
    return all(torch.equal(getattr(one, part)(), getattr(other, part)()) for part in parts)
